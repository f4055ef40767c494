import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../../host/fake/memory-host.ts';
import { readSignals, type SignalInputs } from './read-signals.ts';

const MIB = 2 ** 20;
const PLACES = {
  memoryBytes: 1000 * MIB,
  rootDir: '/var/lib/kubelet',
  podsCgroup: '/kubepods',
  podsMemoryBytes: 800 * MIB,
};
const MEMORY = { usageBytes: 0, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 };

async function read(host: MemoryHost, imagePlace?: SignalInputs['disks']): Promise<Record<string, readonly bigint[]>> {
  const readings = await readSignals({ ...PLACES, disks: imagePlace }, host);
  return Object.fromEntries([...readings].map(([signal, { available, capacity }]) => [signal, [available, capacity]]));
}

async function write(host: MemoryHost, path: string, text: string): Promise<void> {
  await host.fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
  await host.fs.writeFile(path, text);
}

test('readSignals() omits unreadable signals', async () => {
  assert.deepEqual(await read(createMemoryHost()), {});
});

test('readSignals() reads the memory of the machine and of pods from their cgroups', async () => {
  const host = createMemoryHost();
  host.cgroupStats.set('/', { memory: { ...MEMORY, workingSetBytes: 300 * MIB } });
  host.cgroupStats.set('/kubepods', { memory: { ...MEMORY, workingSetBytes: 200 * MIB } });
  assert.deepEqual(await read(host), {
    'memory.available': [700n * 2n ** 20n, 1000n * 2n ** 20n],
    'allocatableMemory.available': [600n * 2n ** 20n, 800n * 2n ** 20n],
  });
});

test('readSignals() reads memory from /proc/meminfo if the root cgroup has no statistics', async () => {
  const host = createMemoryHost();
  const meminfo = 'MemTotal:  1024000 kB\nMemFree:  512000 kB\nInactive(file):  102400 kB\n';
  await write(host, '/proc/meminfo', meminfo);
  assert.deepEqual(await read(host), { 'memory.available': [600n * 2n ** 20n, 1000n * 2n ** 20n] });
});

test('readSignals() reads the disks of the node, the images and the containers', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory(PLACES.rootDir);
  const usage = { capacityBytes: 100, availableBytes: 40, inodes: 10, inodesFree: 3 };
  host.fs.setUsage(PLACES.rootDir, usage);
  assert.deepEqual(await read(host, { imageFsPath: PLACES.rootDir, containerFsPath: PLACES.rootDir }), {
    'nodefs.available': [40n, 100n],
    'nodefs.inodesFree': [3n, 10n],
    'imagefs.available': [40n, 100n],
    'imagefs.inodesFree': [3n, 10n],
    'containerfs.available': [40n, 100n],
    'containerfs.inodesFree': [3n, 10n],
  });
});

test('readSignals() counts threads against the smaller limit', async () => {
  const host = createMemoryHost();
  await write(host, '/proc/sys/kernel/pid_max', '32768\n');
  await write(host, '/proc/sys/kernel/threads-max', '1000\n');
  await write(host, '/proc/loadavg', '1.36 3.49 4.53 2/350 3715089\n');
  assert.deepEqual(await read(host), { 'pid.available': [650n, 1000n] });
});
