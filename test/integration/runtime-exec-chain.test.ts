/** A deep process tree in a container does not endanger the runtime that must kill it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { childrenOf, type Scene, sceneAround, signal, WAITS } from './runtime-pod.ts';
import { until } from './until.ts';

/** `NODELET_TEST_PROCESSES=9000`, where the machine allows it, is deeper than any stack. */
const COUNT = Number(process.env['NODELET_TEST_PROCESSES'] ?? 150);
/** Each shell starts the next one and waits for it. */
const CHAIN = `chain() { if [ $1 -gt 0 ]; then ( chain $(($1 - 1)); true ); else touch /tmp/deep; sleep 600; fi; }; chain ${COUNT}`;

describe('a deep chain of processes in an exec', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  sceneAround((made) => {
    scene = made;
  });

  test('is killed at its timeout, and the runtime keeps running', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const containerId = await pod.startReady(WAITS);
    const first = await scene.pid(containerId);
    const before = scene.runtime.pid();
    const exec = { containerId, cmd: ['sh', '-c', CHAIN], timeout: 5n };
    for (let round = 0; round < 2; round++) {
      await assert.rejects(scene.cri.runtime.execSync(exec, signal), { code: 'DeadlineExceeded' });
      assert.equal(await scene.ask(containerId, 'ls /tmp/deep; rm /tmp/deep'), '/tmp/deep');
    }
    assert.equal(scene.runtime.pid(), before);
    process.kill(before, 0); // the process exists
    await until(async () => (await scene.ask(containerId, 'ps -o args | grep -c "[c]hain" || true')) === '0');
    assert.ok(childrenOf(first).length <= 2); // the processes of its own command
  });
});
