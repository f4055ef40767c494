import assert from 'node:assert/strict';
import {
  closeSync,
  createReadStream,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { ContainerState, ListPodSandboxRequest, PodSandboxState } from '../../src/cri/generated/runtime-v1.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import {
  cgroupFolder,
  childrenOf,
  HANDLER,
  memoryOf,
  monitorOf,
  processesIn,
  type Scene,
  type ScenePod,
  sceneAround,
  settledRuntimeResources,
  signal,
  WAITS,
} from './runtime-pod.ts';
import { listRuntimeResources } from './runtime-resources.ts';
import { becomes, until } from './until.ts';

/** How much one container writes; the full test is 1024. */
const LOG_MB = Number(process.env['NODELET_LOG_MB'] ?? 64);
const EXECS = Number(process.env['NODELET_EXECS'] ?? 1000);
const EXECS_AT_ONCE = 8;
const MEMORY_LIMIT = 16n * 1024n * 1024n;
const { CONTAINER_EXITED, CONTAINER_RUNNING } = ContainerState;

describe('stress tests of nodelet cri', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  sceneAround((started) => {
    scene = started;
  });

  test(`${LOG_MB} MiB of output are all in the log, once and in order, with constant memory`, async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const lines = LOG_MB * 1024;
    const pad = 'x'.repeat(1015);
    const beforeKiB = memoryOf(scene.runtime.pid(), 'VmRSS');
    const begun = performance.now();
    const writes = `awk 'BEGIN { for (i = 0; i < ${lines}; i++) printf "%08d ${pad}\\n", i }'`;
    const id = await pod.start(`mkfifo /tmp/go; ${writes}; echo written; read x < /tmp/go; echo last`);
    const { logPath } = await scene.status(id);
    await until(() => endOf(logPath).includes(' F written\n') || undefined);
    const tookMs = performance.now() - begun;
    const monitorKiB = memoryOf(monitorOf(id), 'VmHWM');
    const grownKiB = memoryOf(scene.runtime.pid(), 'VmRSS') - beforeKiB;
    t.diagnostic(
      `written in ${Math.round(tookMs)} ms; at most ${monitorKiB} KiB in conmon, ${grownKiB} KiB more in us`,
    );
    assert.ok(monitorKiB < 16 * 1024, `conmon needed ${monitorKiB} KiB`);
    assert.ok(grownKiB < 32 * 1024, `the runtime grew by ${grownKiB} KiB`);

    await scene.ask(id, 'echo > /tmp/go');
    assert.equal((await scene.exited(id)).exitCode, 0);
    assert.match(endOf(logPath), / F last\n$/, 'the log is complete when the container is shown as exited');
    let next = 0;
    for await (const line of wholeLines(logPath)) {
      if (next < lines && line !== `${String(next).padStart(8, '0')} ${pad}`) assert.equal(line, `line ${next}`);
      next++;
    }
    assert.equal(next, lines + 2);
  });

  test(`${EXECS} execs, ${EXECS_AT_ONCE} at a time, leave no resources`, async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const containerId = await pod.startReady(WAITS);
    const exec = async (): Promise<number> =>
      (await scene.cri.runtime.execSync({ containerId, cmd: ['true'], timeout: 120n }, signal)).exitCode;
    const execs = async (count: number): Promise<number[]> => {
      const codes: number[] = [];
      const one = async (): Promise<void> => {
        while (count-- > 0) codes.push(await exec());
      };
      await Promise.all(Array.from({ length: EXECS_AT_ONCE }, one));
      return codes;
    };
    const inUse = (): Record<string, number> => ({
      descriptors: readdirSync(`/proc/${scene.runtime.pid()}/fd`).length,
      children: childrenOf(scene.runtime.pid()).length,
      inContainer: processesIn(cgroupFolder('pids', cgroupOf(pod, containerId))).length,
    });
    await execs(EXECS_AT_ONCE * 2);
    const before = inUse();
    const traces = await settledRuntimeResources(scene.runtime);
    const begun = performance.now();
    const codes = await execs(EXECS);
    t.diagnostic(`${((performance.now() - begun) / EXECS).toFixed(1)} ms for each`);
    assert.deepEqual([codes.length, new Set(codes)], [EXECS, new Set([0])]);
    await becomes(() => moreThan(before, inUse()), []);
    await becomes(() => listRuntimeResources(scene.runtime), traces);
  });

  test('a fork bomb stays within its limit, can be stopped and removed, and leaves no process', async (t) => {
    const parent = join(scene.runtime.cgroupParent, 'bomb');
    const folder = cgroupFolder('pids', parent);
    mkdirSync(folder, { recursive: true });
    enablePids(folder);
    writeFileSync(join(folder, 'pids.max'), '64');
    const pod = await scene.runPod({ linux: { cgroupParent: parent } });
    t.after(pod.remove);
    // The first process never exits and reaps: otherwise zombies would fill the limit.
    const id = await pod.start(
      'bomb() { while :; do bomb & done; }; sleep 10000 & bomb 2> /dev/null & while :; do wait; done',
    );
    await until(() => (failedForks(folder, join(folder, id)) > 100 ? true : undefined));
    assert.equal((await scene.status(id)).state, CONTAINER_RUNNING);
    const stopped = await scene.stopContainer(id, 1n);
    assert.deepEqual([stopped.state, stopped.exitCode, stopped.reason], [CONTAINER_EXITED, 137, 'Error']);
    assert.deepEqual(processesIn(folder), []);
    await scene.cri.runtime.removeContainer({ containerId: id }, signal);
  });

  test('a process above its memory limit is OOM-killed, with that reason', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const linux = { resources: { memoryLimitInBytes: MEMORY_LIMIT } };
    const command = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=256M', 'count=1'];
    const { exitCode, reason } = await scene.exited(await pod.start('', { command, linux }));
    assert.deepEqual([exitCode, reason], [137, 'OOMKilled']);
  });

  test('a process that ignores SIGTERM is killed after its grace period', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    for (const seconds of [1n, 0n]) {
      const id = await pod.startReady('trap "" TERM; echo ready; while :; do sleep 0.1; done');
      const begun = performance.now();
      const { state, exitCode, reason } = await scene.stopContainer(id, seconds);
      assert.deepEqual([state, exitCode, reason], [CONTAINER_EXITED, 137, 'Error']);
      assert.ok(performance.now() - begun >= Number(seconds) * 1000 - 10, 'not before');
    }
  });

  test('an exec that exceeds its timeout is killed with its descendants', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const containerId = await pod.startReady(WAITS);
    const folder = cgroupFolder('pids', cgroupOf(pod, containerId));
    const before = processesIn(folder);
    const cmd = ['sh', '-c', 'sleep 1000 & sh -c "trap : TERM; sleep 1000; sleep 1000" & sleep 1000'];
    await assert.rejects(scene.cri.runtime.execSync({ containerId, cmd, timeout: 1n }, signal), {
      code: 'DeadlineExceeded',
      message: 'failed to exec in container: timeout 1s exceeded: context deadline exceeded',
    });
    await until(() => (String(processesIn(folder)) === String(before) ? true : undefined));
    assert.equal(await scene.ask(containerId, 'echo fine'), 'fine');
  });

  test('calls that the caller cancels at any time leave no resources', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const { runtime } = scene.cri;
    const containerId = await pod.startReady(WAITS);
    const cgroup = cgroupFolder('pids', cgroupOf(pod, containerId));
    const before = String(processesIn(cgroup));
    const traces = await settledRuntimeResources(scene.runtime);

    for (let ms = 0; ms < 50; ms += 4) {
      const givesUp = AbortSignal.timeout(ms);
      await runtime.runPodSandbox({ config: scene.podConfig(), runtimeHandler: HANDLER }, givesUp).catch(() => {});

      const created = await pod.create('sleep 1000');
      await runtime.startContainer({ containerId: created }, AbortSignal.timeout(ms)).catch(() => {});
      await runtime.removeContainer({ containerId: created }, signal);

      const cmd = ['sh', '-c', 'sleep 1000 & sleep 1000'];
      await assert.rejects(runtime.execSync({ containerId, cmd, timeout: 0n }, AbortSignal.timeout(ms)));
    }
    await until(() => (String(processesIn(cgroup)) === before ? true : undefined));
    await until(async () => {
      await removeReady(scene, (id) => id !== pod.id); // those that became ready before the cancellation
      return String(listRuntimeResources(scene.runtime)) === String(traces) ? true : undefined;
    });
  });

  describe('exit codes match those of a shell', () => {
    const endings: [line: string, exitCode: number, reason: string][] = [
      ['exit 0', 0, 'Completed'],
      ['exit 1', 1, 'Error'],
      ['exit 255', 255, 'Error'],
      ['exec nonesuch', 127, 'Error'],
      ['exec /etc/passwd', 126, 'Error'],
      ['kill -HUP $$', 129, 'Error'],
      ['kill -SEGV $$', 139, 'Error'],
      ['kill -TERM $$', 143, 'Error'],
      ['kill -KILL $$', 137, 'Error'],
      ['kill -USR1 $$', 138, 'Error'],
    ];
    test(`${endings.length} endings`, async (t) => {
      // The init process of a PID namespace cannot be killed by its own signals: with a shared one it is not the init process.
      const pod = await scene.runPod({ linux: { securityContext: { namespaceOptions: {} } } });
      t.after(pod.remove);
      const results = await Promise.all(
        endings.map(async ([line]) => {
          const { exitCode, reason } = await scene.exited(await pod.start(line));
          return [line, exitCode, reason];
        }),
      );
      assert.deepEqual(results, endings);
    });
  });
});

function cgroupOf({ config }: ScenePod, containerId: string): string {
  return join(config.linux?.cgroupParent ?? '', containerId);
}

async function removeReady({ cri }: Scene, isMeant: (id: string) => boolean): Promise<void> {
  const filter = { state: { state: PodSandboxState.SANDBOX_READY } };
  const { items } = await cri.runtime.listPodSandbox(ListPodSandboxRequest.fromPartial({ filter }), signal);
  for (const { id } of items) {
    if (isMeant(id)) await cri.runtime.removePodSandbox({ podSandboxId: id }, signal);
  }
}

/** On v2 a controller must be enabled in every ancestor cgroup. */
function enablePids(folder: string): void {
  const above = dirname(folder);
  if (!existsSync(join(above, 'cgroup.subtree_control'))) return;
  enablePids(above);
  writeFileSync(join(above, 'cgroup.subtree_control'), '+pids');
}

/** Counted at the cgroup with the limit, or (on v1) at that of the process. */
function failedForks(...folders: string[]): number {
  const counts = folders.map((folder) => /max (\d+)/.exec(readFileSync(join(folder, 'pids.events'), 'utf8'))?.[1]);
  return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
}

function endOf(path: string): string {
  const descriptor = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(4096);
    const from = Math.max(0, fstatSync(descriptor).size - bytes.length);
    return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, from));
  } finally {
    closeSync(descriptor);
  }
}

/** As `linesOf`, for a file that is too large for memory. */
async function* wholeLines(path: string): AsyncGenerator<string> {
  let begun = '';
  for await (const entry of createInterface({ input: createReadStream(path, { highWaterMark: 1 << 20 }) })) {
    const text = entry.indexOf(' std') + ' stdout F '.length;
    begun += entry.slice(text);
    if (entry[text - 2] === 'P') continue;
    yield begun;
    begun = '';
  }
}

/** Resources that were not yet removed at the first count may be gone now. */
function moreThan(before: Readonly<Record<string, number>>, now: Readonly<Record<string, number>>): readonly string[] {
  return Object.keys(now).filter((name) => (now[name] ?? 0) > (before[name] ?? 0));
}
