/** The OCI driver on the real kernel, with each OCI runtime that works here. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ContainerExit, MonitoredContainer, OciRuntime } from '../../src/runtime/oci/oci-runtime.ts';
import { host, never, type OciProgram, OciWorld, processOf, usableCrun, usableRunc } from './oci-fixture.ts';
import { until } from './until.ts';

const SIGTERM = 15;
const SIGKILL = 9;
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

for (const each of [await usableCrun(), await usableRunc()]) ociTests(each);

function ociTests({ program, skip }: OciProgram): void {
  const name = program.slice(program.lastIndexOf('/') + 1);
  const ociTest = (
    title: string,
    run: (world: OciWorld, runtime: OciRuntime, t: TestContext) => Promise<void>,
  ): void => {
    test(`${name}: ${title}`, { skip }, async (t) => {
      const world = new OciWorld(program);
      t.after(() => world.close());
      await run(world, world.runtime(), t);
      assert.deepEqual(await world.remainingResources(), []);
    });
  };

  /** Starts the container, waits for its exit, removes it. */
  async function life(
    runtime: OciRuntime,
    container: MonitoredContainer,
  ): Promise<Omit<ContainerExit, 'finishedAtMs'>> {
    const before = fileTimeMs(container);
    await runtime.start(container, never);
    const end = await runtime.wait(container, never);
    assert.deepEqual(await runtime.wait(container, never), end);
    await runtime.remove(container, never);
    if (end.kind === 'monitorLost') return end;
    const { finishedAtMs, ...rest } = end;
    assert.ok(finishedAtMs >= before - 1 && finishedAtMs <= fileTimeMs(container) + 1, `${finishedAtMs}`); // rounded
    return rest;
  }

  ociTest('returns the exit code, and writes the log in CRI format', async (world, runtime) => {
    const container = world.container(['sh', '-c', 'echo one; echo two >&2; seq -s x 3000; exit 3']);
    assert.deepEqual(await life(runtime, container), { kind: 'exited', exitCode: 3, oomKilled: false });
    const lines = readFileSync(container.logPath, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '));
    const [first, second, ...long] = [
      ...lines.filter(([, stream]) => stream === 'stdout').slice(0, 1),
      ...lines.filter(([, stream]) => stream === 'stderr'),
      ...lines.filter(([, stream]) => stream === 'stdout').slice(1),
    ];
    assert.match(first?.[0] ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d)$/);
    assert.deepEqual(first?.slice(1), ['stdout', 'F', 'one']);
    assert.deepEqual(second?.slice(1), ['stderr', 'F', 'two']);
    assert.deepEqual([...new Set(long.slice(0, -1).map((line) => line[2]))], ['P']);
    assert.equal(long.at(-1)?.[2], 'F');
    const numbers = Array.from({ length: 3000 }, (_, index) => index + 1).join('x');
    assert.equal(long.map((line) => line[3]).join(''), numbers);
  });

  ociTest(
    'returns the signal of a killed process, and one that ignores SIGTERM needs SIGKILL',
    async (world, runtime) => {
      const container = world.container([
        'sh',
        '-c',
        'trap "echo no" TERM; echo ready; while :; do sleep 1000 & wait; done',
      ]);
      const { pid } = await runtime.start(container, never);
      await logHas(container, 'ready');
      assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /^sh\0/);
      await runtime.kill(container, SIGTERM);
      await logHas(container, ' no\n');
      await runtime.kill(container, SIGKILL);
      const end = await runtime.wait(container, never);
      assert.deepEqual(
        { ...end, finishedAtMs: 0 },
        { kind: 'exited', exitCode: 137, oomKilled: false, finishedAtMs: 0 },
      );
      await runtime.kill(container, SIGKILL);
      await runtime.remove(container, never);
      await runtime.remove(container, never);
      await runtime.kill(container, SIGKILL);
    },
  );

  ociTest('sees that the kernel killed it for want of memory', async (world, runtime) => {
    const memory = { limit: 16 * 1024 * 1024 };
    const container = world.container(['sh', '-c', 'dd if=/dev/zero of=/dev/null bs=64M count=1'], (spec) => ({
      ...spec,
      process: { ...spec.process, args: ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=64M', 'count=1'] },
      linux: { ...spec.linux, resources: { ...spec.linux.resources, memory } },
    }));
    assert.deepEqual(await life(runtime, container), { kind: 'exited', exitCode: 137, oomKilled: true });
  });

  ociTest('returns why a command cannot start, and leaves no resources', async (world, runtime) => {
    const container = world.container(['no-such-command']);
    const expected = { name: 'OciError', message: /^.*no-such-command.* not found in \$PATH/ };
    await assert.rejects(runtime.start(container, never), expected);
    assert.deepEqual(await runtime.wait(container, never), { kind: 'monitorLost' });
  });

  ociTest('a program that cannot run ends the container', async (world, runtime) => {
    writeFileSync(join(world.folder, 'rootfs/bin/odd'), '#!/no/such/interpreter\n', { mode: 0o755 });
    const container = world.container(['odd']);
    const end = await life(runtime, container).catch((error: unknown) => error);
    // crun fails by exit code, runc with an error.
    if (end instanceof Error) assert.equal(end.name, 'OciError');
    else assert.deepEqual(end, { kind: 'exited', exitCode: 1, oomKilled: false });
  });

  ociTest(
    'each seccomp section is in force, first and again, in the container and in execs',
    async (world, runtime) => {
      const forbidding = (names: readonly string[]) =>
        world.container(
          ['sh', '-c', 'mkdir /dev/a && echo made; chmod 700 /dev && echo changed; echo end; sleep 1000'],
          (spec) => ({
            ...spec,
            annotations: { 'run.oci.seccomp_bpf_data': 'BgAAAAAA/38=' }, // allows everything
            linux: {
              ...spec.linux,
              seccomp: {
                defaultAction: 'SCMP_ACT_ALLOW',
                syscalls: [{ names, action: 'SCMP_ACT_ERRNO', errnoRet: 1 }],
              },
            },
          }),
        );
      const said = async (names: readonly string[], driver: OciRuntime): Promise<string[]> => {
        const container = forbidding(names);
        const { pid } = await driver.start(container, never);
        await logHas(container, 'end');
        assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Seccomp:\t2\n(?:Seccomp_filters:\t1\n)?/m);
        const script = 'mkdir /dev/b && echo made; chmod 700 /dev && echo changed; exit 0';
        const exec = { process: processOf(['sh', '-c', script]), maxOutputBytes: 1000 };
        const { stdout } = await driver.execSync(container, exec, never);
        await driver.remove(container, never);
        const inLog = /(?<= stdout F )(?:made|changed)/.exec(readFileSync(container.logPath, 'utf8'));
        return [...(inLog ?? []), text(stdout).trim()];
      };
      const [folders, modes] = [
        ['mkdir', 'mkdirat'],
        ['chmod', 'fchmod', 'fchmodat'],
      ];
      for (const driver of [runtime, runtime, world.runtime()]) {
        assert.deepEqual(await said(folders, driver), ['changed', 'changed']);
        assert.deepEqual(await said(modes, driver), ['made', 'made']);
      }
    },
  );

  ociTest('hooks run around a start and an end, whether or not they read the state', async (world, runtime) => {
    const said = (name: string): string => join(world.folder, name);
    const hook = (script: string) => ({ path: '/bin/sh', args: ['sh', '-c', script] });
    const container = world.container(['sleep', '1000'], (spec) => ({
      ...spec,
      hooks: {
        poststart: [{ path: '/bin/true' }, hook(`cat >${said('started')}`)],
        poststop: [hook(`cat >${said('stopped')}`)],
      },
    }));
    await runtime.start(container, never);
    assert.equal(existsSync(said('stopped')), false);
    await runtime.kill(container, 9);
    await runtime.wait(container, never);
    await runtime.remove(container, never);
    for (const name of ['started', 'stopped']) {
      const { id, bundle } = JSON.parse(readFileSync(said(name), 'utf8')) as Record<string, unknown>;
      assert.deepEqual({ id, bundle }, { id: container.id, bundle: container.bundle });
    }
  });

  ociTest('leaves nothing of a start whose hook fails, and says which', async (world, runtime) => {
    const container = world.container(['sleep', '1000'], (spec) => ({
      ...spec,
      hooks: { poststart: [{ path: '/bin/sh', args: ['sh', '-c', 'cat >/dev/null; echo no luck >&2; exit 3'] }] },
    }));
    await assert.rejects(runtime.start(container, never), { name: 'OciError', message: /hook #0.*no luck/s });
  });

  ociTest('leaves nothing of a start that is aborted', async (world, runtime) => {
    const controller = new AbortController();
    const container = world.container(['sleep', '1000'], (spec) => ({
      ...spec,
      hooks: { prestart: [{ path: '/bin/sleep', args: ['sleep', '1000'] }] },
    }));
    const start = runtime.start(container, controller.signal);
    for await (const _ of host.fs.watch(container.bundle, never))
      if (existsSync(`${container.bundle}/conmon.pid`)) break;
    controller.abort(new Error('enough'));
    await assert.rejects(start, { message: 'enough' });
  });

  /** Prints `one`, and prints `again` on signal 10. */
  async function startTalker(world: OciWorld, runtime: OciRuntime): Promise<ReturnType<OciWorld['container']>> {
    const line = 'trap "echo again" USR1; echo one; while :; do sleep 1000 & wait; done';
    const container = world.container(['sh', '-c', line]);
    await runtime.start(container, never);
    await logHas(container, 'one');
    return container;
  }

  ociTest('a log that was moved away is opened anew', async (world, runtime) => {
    const container = await startTalker(world, runtime);
    renameSync(container.logPath, `${container.logPath}.1`);
    await runtime.reopenLog(container, never);
    assert.equal(readFileSync(container.logPath, 'utf8'), '');
    await runtime.kill(container, 10);
    await logHas(container, 'again');
    await runtime.remove(container, never);
    await assert.rejects(runtime.reopenLog(container, never), { name: 'OciError' });
  });

  ociTest('a log that was not moved away keeps its lines when it is opened anew', async (world, runtime) => {
    const container = await startTalker(world, runtime);
    await runtime.reopenLog(container, never);
    await runtime.kill(container, 10);
    await logHas(container, 'again');
    assert.match(readFileSync(container.logPath, 'utf8'), / one\n.* again\n$/s);
    await runtime.remove(container, never);
  });

  ociTest('a container whose monitor is killed is seen, can be killed and removed', async (world, runtime) => {
    const container = world.container(['sleep', '1000']);
    const { pid } = await runtime.start(container, never);
    const end = runtime.wait(container, never);
    process.kill(Number(readFileSync(`${container.bundle}/conmon.pid`, 'utf8')), 'SIGKILL');
    assert.deepEqual(await end, { kind: 'monitorLost' });
    const first = await host.processes.identify(pid);
    assert.ok(first);
    await runtime.kill(container, SIGKILL);
    await host.processes.waitForExit(first, never);
    await runtime.remove(container, never);
  });

  ociTest('after a restart running and exited containers are found', async (world, runtime) => {
    const [runs, ends] = [world.container(['sleep', '1000']), world.container(['sh', '-c', 'exit 7'])];
    await Promise.all([runtime.start(runs, never), runtime.start(ends, never)]);
    await runtime.wait(ends, never);
    const next = world.runtime();
    const found = await next.wait(ends, never);
    assert.deepEqual({ ...found, finishedAtMs: 0 }, { kind: 'exited', exitCode: 7, oomKilled: false, finishedAtMs: 0 });
    const controller = new AbortController();
    const aborted = next.wait(runs, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(aborted, { message: 'enough' });
    const end = next.wait(runs, never);
    await next.kill(runs, SIGTERM);
    await next.kill(runs, SIGKILL);
    assert.equal((await end).kind, 'exited');
    await Promise.all([next.remove(runs, never), next.remove(ends, never)]);
  });

  ociTest('a fork bomb under a limit is killed and removed', async (world, runtime) => {
    const container = world.container(
      ['sh', '-c', 'echo ready; (bomb() { bomb | bomb & }; while :; do bomb; done); sleep 1000'],
      (spec) => ({
        ...spec,
        linux: { ...spec.linux, resources: { ...spec.linux.resources, pids: { limit: 60 } } },
      }),
    );
    await runtime.start(container, never);
    await logHas(container, 'ready');
    await runtime.remove(container, never);
  });

  ociTest('without a PID namespace of its own all its processes are reached', async (world, runtime) => {
    const container = world.container(['sh', '-c', 'sleep 1000 & sleep 1000 & echo ready; wait'], (spec) => ({
      ...spec,
      linux: { ...spec.linux, namespaces: spec.linux.namespaces.filter(({ type }) => type !== 'pid') },
      mounts: spec.mounts.map((mount) =>
        mount.type === 'proc'
          ? { destination: '/proc', type: 'bind', source: '/proc', options: ['rbind', 'ro'] }
          : mount,
      ),
    }));
    await runtime.start(container, never);
    await logHas(container, 'ready');
    await runtime.kill(container, SIGKILL, { all: true });
    await runtime.wait(container, never);
    await runtime.remove(container, never);
  });

  ociTest('new limits reach the kernel, and an error is returned', async (world, runtime) => {
    const container = world.container(['sleep', '1000']);
    const { pid } = await runtime.start(container, never);
    await runtime.update(
      container,
      { devices: [], cpu: { shares: 512, quota: 20_000, period: 100_000 }, memory: { limit: 67_108_864 } },
      never,
    );
    assert.deepEqual(limitsOf(pid), { cpu: '20000 100000', memory: '67108864' });
    await assert.rejects(runtime.update(container, { devices: [], cpu: { cpus: '4000' } }, never), {
      name: 'OciError',
    });
    await runtime.remove(container, never);
  });

  ociTest(
    'exec keeps the output, its beginning alone when there is much, and the exit code',
    async (world, runtime) => {
      const container = world.container(['sleep', '1000']);
      await runtime.start(container, never);
      const exec = (script: string, maxOutputBytes = 1000) =>
        runtime.execSync(container, { process: processOf(['sh', '-c', script]), maxOutputBytes }, never);
      const { exitCode, stdout, stderr } = await exec('echo out; echo err >&2; exit 5');
      assert.deepEqual([exitCode, text(stdout), text(stderr)], [5, 'out\n', 'err\n']);
      assert.equal(text((await exec('dd if=/dev/zero bs=1M count=3; echo end', 10)).stdout), '\0'.repeat(10));
      assert.equal((await exec('kill -9 $$')).exitCode, 137);
      const missing = { process: processOf(['no-such-command']), maxOutputBytes: 10_000 };
      await assert.rejects(runtime.execSync(container, missing, never), {
        name: 'OciError',
        message: /no-such-command.*not found/,
      });
      await runtime.remove(container, never);
      await assert.rejects(runtime.execSync(container, { process: processOf(['true']), maxOutputBytes: 1000 }, never));
    },
  );

  ociTest('an exec that takes too long ends with its whole group', async (world, runtime) => {
    const container = world.container(['sleep', '1000']);
    const { pid } = await runtime.start(container, never);
    const script = 'trap "" TERM; sleep 777 & (trap "" TERM; sleep 777) & wait';
    const exec = { process: processOf(['sh', '-c', script]), timeoutMs: 300, maxOutputBytes: 1000 };
    await assert.rejects(runtime.execSync(container, exec, never), { name: 'ExecTimeoutError' });
    const controller = new AbortController();
    const aborted = runtime.execSync(container, { process: exec.process, maxOutputBytes: 1000 }, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(aborted, { message: 'enough' });
    await until(async () => (await processesBeside(pid)).length === 0);
    await runtime.remove(container, never);
  });

  ociTest('exec with streams: input, both outputs, exit code', async (world, runtime) => {
    const container = world.container(['sleep', '1000']);
    await runtime.start(container, never);
    const exec = await runtime.exec(container, processOf(['sh', '-c', 'cat; echo err >&2; exit 4']), never);
    await exec.write(new TextEncoder().encode('hello'));
    exec.closeInput();
    assert.deepEqual(await Promise.all([all(exec.stdout), all(exec.stderr), exec.exited]), ['hello', 'err\n', 4]);

    const killed = await runtime.exec(container, processOf(['sleep', '1000']), never);
    await killed.kill();
    assert.equal(await killed.exited, 137);
    await assert.rejects(runtime.exec(container, processOf(['no-such-command']), never), {
      name: 'OciError',
      message: /no-such-command/,
    });
    await runtime.remove(container, never);
  });

  ociTest('exec in a terminal has a size', async (world, runtime) => {
    const container = world.container(['sleep', '1000']);
    await runtime.start(container, never);
    const exec = await runtime.exec(container, processOf(['sh', '-c', 'read x; stty size; exit 6'], true), never);
    await exec.resize({ width: 100, height: 40 });
    await exec.write(new TextEncoder().encode('go\n'));
    const [output, exitCode] = await Promise.all([all(exec.stdout), exec.exited]);
    assert.deepEqual([output.replaceAll('\r', ''), exitCode], ['go\n40 100\n', 6]);
    await runtime.remove(container, never);
  });

  ociTest('a container can have a terminal, and input that stays open', async (world, runtime) => {
    const inTerminal = world.container(['sh', '-c', 'stty size >/dev/null 2>&1; [ -t 0 ] && echo yes'], (spec) => ({
      ...spec,
      process: { ...spec.process, terminal: true },
    }));
    assert.deepEqual(await life(runtime, inTerminal), { kind: 'exited', exitCode: 0, oomKilled: false });
    assert.match(readFileSync(inTerminal.logPath, 'utf8'), / stdout F yes\r?\n$/);

    const withInput = { ...world.container(['sh', '-c', 'echo ready; cat; echo end']), stdin: true };
    await runtime.start(withInput, never);
    await logHas(withInput, 'ready');
    await runtime.kill(withInput, SIGKILL);
    await runtime.wait(withInput, never);
    assert.doesNotMatch(readFileSync(withInput.logPath, 'utf8'), / end\n/);
    await runtime.remove(withInput, never);
  });

  ociTest('many execs leave no descriptor open', async (world, runtime) => {
    const container = world.container(['sleep', '1000']);
    await runtime.start(container, never);
    const exec = { process: processOf(['true']), maxOutputBytes: 1000 };
    const execs = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 4) {
        await Promise.all([1, 2, 3, 4].map(() => runtime.execSync(container, exec, never)));
      }
    };
    await execs(8);
    const before = readdirSync('/proc/self/fd').length;
    await execs(name === 'crun' ? 1000 : 100);
    await until(() => readdirSync('/proc/self/fd').length <= before);
    await runtime.remove(container, never);
  });
}

/** The kernel's coarse file time, which lags a little: the exit time is the time of a file. */
function fileTimeMs({ bundle }: MonitoredContainer): number {
  writeFileSync(`${bundle}.now`, '');
  return statSync(`${bundle}.now`).mtimeMs;
}

async function logHas({ logPath }: MonitoredContainer, words: string): Promise<void> {
  assert.ok(logPath);
  for await (const _ of host.fs.watch(logPath, never)) if (readFileSync(logPath, 'utf8').includes(words)) return;
}

async function all(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let output = '';
  for await (const chunk of chunks) output += text(chunk);
  return output;
}

/** Ids of live processes that share the PID namespace of `pid`, without itself. */
async function processesBeside(pid: number): Promise<number[]> {
  const cgroup = /^\d+:pids:(.*)$|^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
  const pids = await host.cgroups.processes(cgroup?.[1] ?? cgroup?.[2] ?? '/none');
  const identities = await Promise.all(
    pids.filter((each) => each !== pid).map((each) => host.processes.identify(each)),
  );
  return identities.flatMap((each) => (each ? [each.pid] : []));
}

function limitsOf(pid: number): { cpu: string; memory: string } {
  const cgroups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  const of = (controller: string): string =>
    new RegExp(`^\\d+:[^:]*\\b${controller}\\b[^:]*:(.*)$`, 'm').exec(cgroups)?.[1] ?? '';
  const read = (path: string): string => readFileSync(`/sys/fs/cgroup/${path}`, 'utf8').trim();
  if (host.cgroups.version === 'v2') {
    const path = /^0::(.*)$/m.exec(cgroups)?.[1] ?? '';
    return { cpu: read(`${path}/cpu.max`), memory: read(`${path}/memory.max`) };
  }
  const cpu = `cpu${of('cpu')}`;
  return {
    cpu: `${read(`${cpu}/cpu.cfs_quota_us`)} ${read(`${cpu}/cpu.cfs_period_us`)}`,
    memory: read(`memory${of('memory')}/memory.limit_in_bytes`),
  };
}
