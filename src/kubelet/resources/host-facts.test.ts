import assert from 'node:assert/strict';
import test from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { kernelAtLeast, parsePageSize, readHostFacts } from './host-facts.ts';

test('readHostFacts() reads the kernel’s files', async () => {
  const fs = new MemoryFileSystem(() => 0);
  for (const folder of [
    '/sys/kernel/mm/hugepages/hugepages-1048576kB',
    '/sys/kernel/mm/hugepages/hugepages-2048kB',
    '/sys/devices/system/cpu/cpu0/thermal_throttle',
    '/sys/devices/system/cpu/cpu1',
    '/sys/devices/system/cpu/cpufreq',
    '/sys/module/apparmor/parameters',
    '/proc/self',
    '/proc/sys/kernel',
    '/sys/fs/cgroup/user.slice',
    '/sys/fs/selinux',
    '/proc/self/attr',
  ]) {
    await fs.makeDirectory(folder);
  }
  await fs.writeFile('/sys/module/apparmor/parameters/enabled', 'Y\n');
  await fs.writeFile('/sys/fs/selinux/enforce', '1');
  await fs.writeFile('/proc/self/attr/current', 'system_u:system_r:init_t:s0\0');
  await fs.writeFile('/proc/self/cgroup', '0::/user.slice\n');
  await fs.writeFile('/sys/fs/cgroup/user.slice/memory.swap.max', 'max\n');
  await fs.writeFile('/proc/sys/kernel/osrelease', '6.1.0-18-amd64\n');
  await fs.writeFile('/proc/meminfo', 'MemTotal:       16384 kB\nSwapTotal:       2048 kB\nSwapFree:        1024 kB\n');
  assert.deepEqual(await readHostFacts({ fs, cgroups: { version: 'v2' } }), {
    cgroupVersion: 'v2',
    hugePageSizes: ['1GB', '2MB'],
    swapControllerAvailable: true,
    swapBytes: 2_097_152,
    thermalThrottlePaths: ['/sys/devices/system/cpu/cpu0/thermal_throttle'],
    cpuCount: 2,
    pageSize: 4096,
    appArmorEnabled: true,
    seLinuxEnabled: true,
    kernel: { major: 6, minor: 1 },
  });
});

test('readHostFacts() of a machine without these files', async () => {
  const fs = new MemoryFileSystem(() => 0);
  assert.deepEqual(await readHostFacts({ fs, cgroups: { version: 'v1' } }), {
    cgroupVersion: 'v1',
    hugePageSizes: [],
    swapControllerAvailable: false,
    swapBytes: 0,
    thermalThrottlePaths: [],
    cpuCount: 1,
    pageSize: 4096,
    appArmorEnabled: false,
    seLinuxEnabled: false,
    kernel: { major: 0, minor: 0 },
  });
});

test('readHostFacts() finds the limit of swap from the root cgroup', async () => {
  const fs = new MemoryFileSystem(() => 0);
  const available = async () => (await readHostFacts({ fs, cgroups: { version: 'v2' } })).swapControllerAvailable;
  for (const folder of ['/proc/self', '/sys/fs/cgroup/a', '/sys/fs/cgroup/b']) await fs.makeDirectory(folder);
  await fs.writeFile('/proc/self/cgroup', '0::/\n');
  await fs.writeFile('/sys/fs/cgroup/cgroup.procs', '1\n');
  assert.equal(await available(), false);
  await fs.writeFile('/sys/fs/cgroup/b/memory.swap.max', 'max\n');
  assert.equal(await available(), true);
});

test('parsePageSize() reads the auxiliary vector', () => {
  const words = new BigUint64Array([16n, 6n, 6n, 65_536n, 0n, 0n]);
  assert.equal(parsePageSize(new Uint8Array(words.buffer)), 65_536);
  assert.equal(parsePageSize(new Uint8Array(3)), 4096);
});

test('kernelAtLeast() compares major before minor', () => {
  const kernel = { major: 6, minor: 1 };
  assert.deepEqual(
    [
      kernelAtLeast(kernel, 5, 19),
      kernelAtLeast(kernel, 6, 1),
      kernelAtLeast(kernel, 6, 4),
      kernelAtLeast(kernel, 7, 0),
    ],
    [true, true, false, false],
  );
});
