import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ContainerState, NamespaceMode, PodSandboxState } from '../../src/cri/generated/runtime-v1.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import {
  cgroupFolder,
  linesOf,
  monitorOf,
  processesIn,
  type Scene,
  sceneAround,
  signal,
  WAITS,
} from './runtime-pod.ts';
import { until } from './until.ts';

const { CONTAINER_EXITED, CONTAINER_RUNNING } = ContainerState;
const { SANDBOX_NOTREADY } = PodSandboxState;
/** Counts as fast as a shell can, and ends after a whole line. */
const COUNTS = 'trap "exit 0" TERM; i=0; while :; do echo $i; i=$((i + 1)); done';
const ROTATIONS = 5;
/** Times have millisecond resolution. */
const ROUNDING_NS = 1_000_000n;

describe('containers of nodelet cri while logs are rotated and processes killed', {
  skip: embeddedSkipReason(),
}, () => {
  let scene: Scene;
  sceneAround((started) => {
    scene = started;
  });

  test('a log that is renamed and reopened during writes loses no line', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const containerId = await pod.start(COUNTS);
    const { logPath } = await scene.status(containerId);
    const rotated: { readonly path: string; readonly size: number }[] = [];
    for (let round = 0; round < ROTATIONS; round++) {
      await until(() => (existsSync(logPath) && statSync(logPath).size > 100_000 ? true : undefined));
      const path = `${logPath}.${round}`;
      renameSync(logPath, path);
      await scene.cri.runtime.reopenContainerLog({ containerId }, signal);
      assert.ok(existsSync(logPath), 'the new log is there when the call returns');
      rotated.push({ path, size: statSync(path).size });
    }
    await scene.stopContainer(containerId, 10n);
    for (const { path, size } of rotated) {
      assert.equal(statSync(path).size, size, 'nothing is written to the old log after the call');
    }
    const texts = [...rotated.map(({ path }) => path), logPath].map((path) => readFileSync(path, 'utf8'));
    assertCounted(linesOf(texts.join('')));
  });

  test('changes while the runtime is dead are known after its restart', async (t) => {
    const shared = join(scene.runtime.folder, 'shared');
    mkdirSync(shared);
    const pod = await scene.runPod();
    t.after(pod.remove);
    const mounts = [{ hostPath: shared, containerPath: '/shared' }];
    const waitsFor = (name: string): string => `mkfifo /shared/${name}; echo ready; read x < /shared/${name}`;
    const linux = { resources: { memoryLimitInBytes: 16n * 1024n * 1024n } };
    const counting = await pod.start(COUNTS);
    const exiting = await pod.startReady(`${waitsFor('exit')}; exit 7`, { mounts });
    const killed = await pod.startReady(WAITS);
    const eating = await pod.startReady(`${waitsFor('eat')}; exec dd if=/dev/zero of=/dev/null bs=256M`, {
      mounts,
      linux,
    });
    const created = await pod.create('exit 3');
    const ended = await pod.start('exit 5');
    const endedBefore = await scene.exited(ended);
    const countingBefore = await scene.status(counting);
    const killedPid = await scene.pid(killed);
    const monitors = [exiting, killed, eating].map(monitorOf);
    const countingPid = await scene.pid(counting);
    const countingCgroup = cgroupFolder('pids', join(pod.config.linux?.cgroupParent ?? '', counting));
    const cmd = ['sh', '-c', 'sleep 1000 & sleep 1000; exit 0'];
    const exec = scene.cri.runtime.execSync({ containerId: counting, cmd, timeout: 0n }, signal);
    const execLost = assert.rejects(exec, { code: 'Unavailable' });
    await until(() => (processesIn(countingCgroup).length === 4 ? true : undefined));

    process.kill(scene.runtime.pid(), 'SIGKILL');
    const begunNs = fileTimeNs(join(shared, 'begun'));
    await execLost;
    writeFileSync(join(shared, 'exit'), '\n');
    writeFileSync(join(shared, 'eat'), '\n');
    process.kill(killedPid, 'SIGKILL');
    await until(() => (monitors.some((pid) => existsSync(`/proc/${pid}`)) ? undefined : true));
    const overNs = fileTimeNs(join(shared, 'over'));
    await scene.runtime.restart();

    const exits = await Promise.all([exiting, killed, eating].map(scene.exited));
    assert.deepEqual(
      exits.map(({ exitCode, reason }) => [exitCode, reason]),
      [
        [7, 'Error'],
        [137, 'Error'],
        [137, 'OOMKilled'],
      ],
    );
    for (const { startedAt, finishedAt } of exits) {
      const isBetween = begunNs - ROUNDING_NS <= finishedAt && finishedAt <= overNs + ROUNDING_NS;
      assert.ok(startedAt < begunNs && isBetween, `finished at ${finishedAt}`);
    }
    assert.deepEqual(await scene.status(ended), endedBefore);
    assert.deepEqual(await scene.status(counting), countingBefore);
    assert.equal(await scene.pid(counting), countingPid);
    await until(() => (String(processesIn(countingCgroup)) === String(countingPid) ? true : undefined));
    assert.equal(await scene.ask(counting, 'echo fine'), 'fine');
    await scene.stopContainer(counting, 10n);
    assertCounted(await scene.logLines(counting));
    await scene.cri.runtime.startContainer({ containerId: created }, signal);
    assert.equal((await scene.exited(created)).exitCode, 3);
  });

  test('a pod that loses its pause process is not ready, and can be removed', async (t) => {
    const pod = await scene.runPod({ linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.POD } } } });
    t.after(pod.remove);
    const id = await pod.startReady(WAITS);
    const look = (verbose: boolean) => scene.cri.runtime.podSandboxStatus({ podSandboxId: pod.id, verbose }, signal);
    const { pid } = JSON.parse((await look(true)).info['info'] ?? '{}');
    process.kill(pid, 'SIGKILL');
    await until(async () => ((await look(false)).status?.state === SANDBOX_NOTREADY ? true : undefined));
    assert.equal((await scene.exited(id)).exitCode, 137, 'the kernel ends a PID namespace with its first process');
  });

  for (const runtimeIsDead of [false, true]) {
    const when = runtimeIsDead ? 'while the runtime is dead' : 'under the eyes of the runtime';
    test(`a container that loses its monitor ${when} has exited with that reason; others keep running`, async (t) => {
      const pod = await scene.runPod();
      t.after(pod.remove);
      const lost = await pod.startReady(WAITS);
      const other = await pod.startReady(WAITS);
      const otherPid = await scene.pid(other);
      const monitor = monitorOf(lost);
      if (runtimeIsDead) process.kill(scene.runtime.pid(), 'SIGKILL');
      process.kill(monitor, 'SIGKILL');
      if (runtimeIsDead) {
        await until(() => (existsSync(`/proc/${monitor}`) ? undefined : true));
        await scene.runtime.restart();
      }

      const { state, exitCode, reason, message } = await scene.exited(lost);
      assert.deepEqual([state, exitCode, reason], [CONTAINER_EXITED, 255, 'Unknown']);
      assert.match(message, /the monitor of the container \(conmon\) is gone/);
      const cgroup = cgroupFolder('pids', join(pod.config.linux?.cgroupParent ?? '', lost));
      await until(() => (existsSync(cgroup) ? undefined : true)); // a cgroup can be removed only without processes
      assert.equal((await scene.status(other)).state, CONTAINER_RUNNING);
      assert.equal(await scene.pid(other), otherPid);
      await scene.cri.runtime.removeContainer({ containerId: lost }, signal);
      assert.equal((await scene.stopContainer(other, 10n)).exitCode, 143);
    });
  }
});

/** Every number once and in order. */
function assertCounted(lines: readonly string[]): void {
  const wrong = lines.findIndex((line, index) => line !== String(index));
  assert.deepEqual([wrong, lines[wrong]], [-1, undefined]);
  assert.ok(lines.length > 100);
}

/** The kernel's coarse file time, which lags a little: the exit time is the time of a file. */
function fileTimeNs(path: string): bigint {
  writeFileSync(path, '');
  return statSync(path, { bigint: true }).mtimeNs;
}
