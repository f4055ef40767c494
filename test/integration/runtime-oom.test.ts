/** Processes that the kernel kills because their cgroup is out of memory, in containers of the embedded runtime. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ContainerState } from '../../src/cri/generated/runtime-v1.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { type Scene, sceneAround } from './runtime-pod.ts';
import { until } from './until.ts';

const ROUNDS = Number(process.env['NODELET_OOM_ROUNDS'] ?? 5);
const AT_ONCE = 8;
const limited = { linux: { resources: { memoryLimitInBytes: 16n * 1024n * 1024n } } };
const EATS = 'dd if=/dev/zero of=/dev/null bs=256M count=1';

describe('out of memory in containers of nodelet cri', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  sceneAround((started) => {
    scene = started;
  });

  test(`the reason of ${ROUNDS * AT_ONCE} kills is never lost`, async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    for (let round = 0; round < ROUNDS; round++) {
      const ids = await Promise.all(Array.from({ length: AT_ONCE }, () => pod.start(`exec ${EATS}`, limited)));
      const ends = await Promise.all(ids.map(scene.exited));
      const reasons = ends.map(({ exitCode, reason }) => `${exitCode} ${reason}`);
      assert.deepEqual(reasons, Array(AT_ONCE).fill('137 OOMKilled'));
    }
  });

  test('a container goes on whose child is killed; its end shows the kill, as with containerd', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const id = await pod.startReady(
      `${EATS}; echo killed $?; mkfifo /tmp/go; echo ready; read x < /tmp/go; exit 0`,
      limited,
    );
    await until(async () => (await scene.logLines(id)).includes('killed 137'));
    const { state, reason } = await scene.status(id);
    assert.deepEqual([state, reason], [ContainerState.CONTAINER_RUNNING, '']);
    await scene.ask(id, 'echo > /tmp/go');
    const { exitCode, reason: why } = await scene.exited(id);
    assert.deepEqual([exitCode, why], [0, 'OOMKilled']);
  });
});
