/** The statistics of a real cgroup, of either version. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, existsSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { Cgroups } from '../../src/host/cgroups.ts';
import { createLinuxCgroupStats } from '../../src/host/linux/cgroup/linux-cgroup-stats.ts';
import { createLinuxCgroups } from '../../src/host/linux/cgroup/linux-cgroups.ts';
import { linuxFileSystem } from '../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';

const ROOT = '/sys/fs/cgroup';
const LIMIT = 256 * 1024 * 1024;

function skipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  try {
    accessSync(ROOT, constants.W_OK);
    return false;
  } catch {
    return 'needs writable cgroups';
  }
}

/** Puts the process into the cgroup in every hierarchy that has one. */
function enter(path: string, pid: number): void {
  const hierarchies = ['', 'cpu', 'cpuacct', 'memory', 'pids', 'blkio'];
  for (const each of hierarchies) {
    const file = `${ROOT}/${each}${path}/cgroup.procs`;
    if (existsSync(file)) writeFileSync(file, String(pid));
  }
}

/** A process in its own cgroup that has used some CPU and memory; it prints a line and waits. */
async function busyProcess(t: TestContext, cgroups: Cgroups, path: string): Promise<number> {
  const script = `
    process.stdin.once('data', () => {
      globalThis.kept = Buffer.alloc(40 * 1024 * 1024, 1); // the kernel may not have counted all of it yet
      const end = process.cpuUsage().user + 200_000;
      while (process.cpuUsage().user < end);
      console.log('used');
    });
    console.log('ready');`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await closed;
    await cgroups.remove(path);
  });
  await once(child.stdout, 'data');
  assert.ok(child.pid);
  enter(path, child.pid);
  child.stdin.write('go\n');
  await once(child.stdout, 'data');
  return child.pid;
}

test('the usage of a process in a real cgroup is counted', { skip: skipReason() }, async (t) => {
  const cgroups = createLinuxCgroups({ fs: linuxFileSystem, clock: linuxClock });
  const path = `/nodelet-test-${randomBytes(4).toString('hex')}`;
  await cgroups.create(path);
  await cgroups.update(path, { memoryLimitBytes: LIMIT, pidsLimit: 100 });
  const pid = await busyProcess(t, cgroups, path);
  const figures = (await createLinuxCgroupStats().details([path, '/nodelet-none'])).get(path);
  assert.ok(figures);
  const { memory, memoryDetails, cpu } = figures;
  assert.ok(figures.cpuNs >= 160_000_000n, `cpu ${figures.cpuNs}`);
  assert.ok(cpu.userNs > 0n && cpu.userNs + cpu.systemNs <= figures.cpuNs * 2n);
  assert.equal(memory.limitBytes, LIMIT);
  assert.ok(memory.usageBytes >= 32 * 1024 * 1024 && memory.usageBytes <= LIMIT, `memory ${memory.usageBytes}`);
  assert.ok(memory.rssBytes >= 32 * 1024 * 1024 && memory.workingSetBytes <= memory.usageBytes);
  assert.ok(memory.pageFaults > 0 && memoryDetails.maxUsageBytes >= memory.usageBytes - memoryDetails.cacheBytes);
  assert.deepEqual([figures.processes, figures.threadsLimit, memoryDetails.oomKills], [[pid], 100, 0]);
  assert.ok(figures.threads >= 1);
});
