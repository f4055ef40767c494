/** The contract of control groups. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cgroups } from '../../../src/host/cgroups.ts';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { createLinuxCgroups } from '../../../src/host/linux/cgroup/linux-cgroups.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';

interface CgroupsWorld {
  readonly cgroups: Cgroups;
  /** A cgroup that does not exist yet, and is removed after the test. */
  readonly path: string;
  /** Puts a new process into a cgroup. */
  start(path: string): Promise<{ readonly pid: number; end(): Promise<void> }>;
}

const MACHINE = '/sys/fs/cgroup';
/** The version 2 tree that a machine with version 1 may have: enough to test version 2, without its controllers. */
const UNIFIED = `${MACHINE}/unified`;

cgroupsContract('linux', linuxWorld(MACHINE, `${MACHINE}/pids`), unusable(MACHINE));
cgroupsContract('linux (unified)', linuxWorld(UNIFIED, UNIFIED), unusable(UNIFIED));
cgroupsContract('memory', async () => {
  const { cgroups } = createMemoryHost();
  cgroups.onKill = (pid) => cgroups.leave(pid);
  let lastPid = 0;
  return {
    cgroups,
    path: '/test',
    start: async (path) => {
      const pid = ++lastPid;
      cgroups.enter(path, pid);
      return { pid, end: async () => cgroups.leave(pid) };
    },
  };
});

/** The reason to skip the tests, or `false`. */
function unusable(root: string): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  if (!existsSync(root)) return `there is no ${root}`;
  try {
    accessSync(root, constants.W_OK);
    return false;
  } catch {
    return `${root} is read-only`;
  }
}

function linuxWorld(root: string, controller: string) {
  return async (t: TestContext): Promise<CgroupsWorld> => {
    const cgroups = createLinuxCgroups({ fs: linuxFileSystem, clock: linuxClock, root });
    const path = `/nodelet-test-${randomBytes(4).toString('hex')}`;
    const children: ChildProcess[] = [];
    t.after(async () => {
      await Promise.all(children.map(ended));
      await cgroups.remove(path);
    });
    return {
      cgroups,
      path,
      start: async (target) => {
        const child = spawn('/bin/sleep', ['1000']);
        await once(child, 'spawn');
        children.push(child);
        const folder = cgroups.version === 'v2' ? root : controller;
        await linuxFileSystem.writeFile(`${folder}${target}/cgroup.procs`, String(child.pid));
        return { pid: child.pid ?? 0, end: () => ended(child) };
      },
    };
  };
}

/** Killed processes end some time later. */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (await isDone()) return;
    await delay(10);
  }
  assert.fail('nothing happened within 5 s');
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

function cgroupsContract(
  name: string,
  makeWorld: (t: TestContext) => Promise<CgroupsWorld>,
  skip: string | false = false,
): void {
  test(`${name} cgroups: creates with parents, repeatedly`, { skip }, async (t) => {
    const { cgroups, path } = await makeWorld(t);
    assert.equal(await cgroups.exists(path), false);
    await cgroups.create(`${path}/b/deep`);
    await cgroups.create(`${path}/a`);
    await cgroups.create(`${path}/b/deep`);
    const there = [path, `${path}/b`, `${path}/b/deep`, `${path}/c`].map((each) => cgroups.exists(each));
    assert.deepEqual(await Promise.all(there), [true, true, true, false]);
    assert.deepEqual(await cgroups.children(path), ['a', 'b']);
    assert.deepEqual(await cgroups.children(`${path}/none`), []);
  });

  test(`${name} cgroups: removes with everything below, repeatedly`, { skip }, async (t) => {
    const { cgroups, path } = await makeWorld(t);
    await cgroups.create(`${path}/a/b/c`);
    await cgroups.create(`${path}/kept`);
    await cgroups.remove(`${path}/a`);
    await cgroups.remove(`${path}/a`);
    assert.deepEqual(await cgroups.children(path), ['kept']);
  });

  test(`${name} cgroups: one with processes below it stays until they have ended`, { skip }, async (t) => {
    const { cgroups, path, start } = await makeWorld(t);
    await cgroups.create(`${path}/a/b`);
    await cgroups.create(`${path}/a/empty`);
    const processes = [await start(`${path}/a/b`), await start(`${path}/a/b`)];
    const pids = processes.map(({ pid }) => pid).sort((x, y) => x - y);
    assert.deepEqual(await cgroups.processes(path), pids);
    assert.deepEqual(await cgroups.processes(`${path}/a/empty`), []);

    await assert.rejects(cgroups.remove(path), { name: 'CgroupBusyError', path, pids });
    assert.deepEqual(await cgroups.children(`${path}/a`), ['b', 'empty']);

    await Promise.all(processes.map((process) => process.end()));
    await cgroups.remove(path);
    assert.equal(await cgroups.exists(path), false);
  });

  test(`${name} cgroups: a process moves to another, and counts there alone`, { skip }, async (t) => {
    const { cgroups, path, start } = await makeWorld(t);
    for (const each of ['a', 'a/b', 'c']) await cgroups.create(`${path}/${each}`);
    const [moved, other] = [await start(`${path}/a/b`), await start(`${path}/a/b`)];
    assert.deepEqual(await cgroups.ownProcesses(`${path}/a`), []);
    await cgroups.addProcess(`${path}/c`, moved.pid);
    assert.deepEqual(await cgroups.ownProcesses(`${path}/c`), [moved.pid]);
    assert.deepEqual(await cgroups.processes(`${path}/a`), [other.pid]);
    assert.deepEqual(await cgroups.ownProcesses(`${path}/none`), []);
    await assert.rejects(cgroups.addProcess(`${path}/none`, moved.pid), { name: 'FileSystemError', code: 'ENOENT' });
  });

  test(`${name} cgroups: one that does not exist is missing, a new one is complete`, { skip }, async (t) => {
    const { cgroups, path } = await makeWorld(t);
    const missing = await cgroups.missing(path);
    assert.equal(missing?.kind, cgroups.version === 'v1' ? 'paths' : 'unreadable');
    await cgroups.create(path);
    assert.equal(await cgroups.missing(path), undefined);
  });

  test(`${name} cgroups: kills what is in one and below it, where the kernel can`, { skip }, async (t) => {
    const { cgroups, path, start } = await makeWorld(t);
    assert.equal(await cgroups.kill(path), false);
    for (const each of ['a/b', 'a/c', 'kept']) await cgroups.create(`${path}/${each}`);
    await start(`${path}/a/b`);
    await start(`${path}/a/c`);
    const { pid } = await start(`${path}/kept`);
    if (!(await cgroups.kill(`${path}/a`))) return t.skip('this kernel has no cgroup.kill');
    await until(async () => (await cgroups.processes(`${path}/a`)).length === 0);
    assert.deepEqual(await cgroups.processes(path), [pid]);
  });

  test(`${name} cgroups: needs no controller that is not named`, { skip }, async (t) => {
    const { cgroups, path } = await makeWorld(t);
    await cgroups.create(path);
    await cgroups.requireControllers(path, []);
  });

  test(`${name} cgroups: limits of huge pages that the machine does not count or have are ignored`, {
    skip,
  }, async (t) => {
    const { cgroups, path } = await makeWorld(t);
    await cgroups.create(path);
    await cgroups.update(path, { hugePageLimits: { '2MB': 0, '3MB': 0 } });
  });

  test(`${name} cgroups: updating a missing cgroup fails`, { skip }, async (t) => {
    const { cgroups, path } = await makeWorld(t);
    await assert.rejects(cgroups.update(path, { pidsLimit: 10 }), { name: 'FileSystemError', code: 'ENOENT' });
  });
}

const isV1 = existsSync(`${MACHINE}/pids`);
const skipV1 = unusable(MACHINE) || (isV1 ? false : 'the machine has no cgroups of version 1');

test('linux cgroups v1: values reach the files of their controllers', { skip: skipV1 }, async (t) => {
  const { cgroups, path } = await linuxWorld(MACHINE, `${MACHINE}/pids`)(t);
  await cgroups.create(`${path}/a`);
  const files = [
    'cpu/cpu.shares',
    'cpu/cpu.cfs_quota_us',
    'cpu/cpu.cfs_period_us',
    'memory/memory.limit_in_bytes',
    'pids/pids.max',
  ];
  const read = () =>
    Promise.all(
      files.map(async (file) => {
        const [controller, name] = file.split('/');
        return (await linuxFileSystem.readText(`${MACHINE}/${controller}${path}/a/${name}`)).trim();
      }),
    );
  const limits = { cpuQuotaMicroseconds: 20_000, cpuPeriodMicroseconds: 50_000, memoryLimitBytes: 64 * 2 ** 20 };
  await cgroups.update(`${path}/a`, { cpuShares: 512, pidsLimit: 100, ...limits });
  assert.deepEqual(await read(), ['512', '20000', '50000', '67108864', '100']);
  await cgroups.update(`${path}/a`, { cpuQuotaMicroseconds: -1, pidsLimit: -1 });
  assert.deepEqual(await read(), ['512', '-1', '50000', '67108864', 'max']);
});

test('linux cgroups v1: a new cpuset has the processors and memory of its parent', { skip: skipV1 }, async (t) => {
  const { cgroups, path } = await linuxWorld(MACHINE, `${MACHINE}/pids`)(t);
  await cgroups.create(`${path}/a`);
  const read = (file: string) => linuxFileSystem.readText(`${MACHINE}/cpuset${file}`);
  for (const set of ['cpuset.cpus', 'cpuset.mems']) assert.equal(await read(`${path}/a/${set}`), await read(`/${set}`));
});

test('linux cgroups v1: reaches the version 2 tree beside it', { skip: skipV1 || unusable(UNIFIED) }, async (t) => {
  const { cgroups, path } = await linuxWorld(MACHINE, `${MACHINE}/pids`)(t);
  await cgroups.create(path);
  assert.notEqual(await linuxFileSystem.stat(`${UNIFIED}${path}`), undefined);
  // A runtime may have created one only there.
  await linuxFileSystem.makeDirectory(`${UNIFIED}${path}/only-here`);
  assert.deepEqual(await cgroups.children(path), ['only-here']);
});

/** A version 2 tree, and a controller of it that works only below cgroups without processes. */
const V2_ROOT = isV1 ? UNIFIED : MACHINE;
const offered = unusable(V2_ROOT) === false ? readFileSync(`${V2_ROOT}/cgroup.controllers`, 'utf8').split(/\s+/) : [];
const controller = (['memory', 'hugetlb'] as const).find((each) => offered.includes(each));

test('linux cgroups v2: a parent with processes of its own is named, and works without them', {
  skip: unusable(V2_ROOT) || (controller ? false : `${V2_ROOT} has no controllers`),
}, async (t) => {
  assert.ok(controller);
  const { cgroups, path, start } = await linuxWorld(V2_ROOT, V2_ROOT)(t);
  await cgroups.create(path);
  const { pid, end } = await start(path);
  await cgroups.create(`${path}/kubepods/pod`);
  await assert.rejects(cgroups.requireControllers(`${path}/kubepods/pod`, [controller]), {
    name: 'CgroupError',
    message: new RegExp(
      `^cgroup ${path}/kubepods/pod: the controller ${controller} is not enabled below ${path}: ${path} has processes of its own \\(${pid}\\)`,
    ),
  });
  await end();
  await cgroups.requireControllers(`${path}/kubepods/pod`, [controller]);
});
