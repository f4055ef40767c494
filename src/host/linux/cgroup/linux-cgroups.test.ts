import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../fake/memory-file-system.ts';
import { cgroupV1 } from './cgroup-v1.ts';
import { cgroupV2 } from './cgroup-v2.ts';

/** Plain files instead of the kernel's. */
async function cgroupFiles(files: Record<string, string>): Promise<MemoryFileSystem> {
  const fs = new MemoryFileSystem(() => 0);
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  return fs;
}

test('version 2 enables every controller for a new cgroup, and not below it', async () => {
  const fs = await cgroupFiles({
    '/cg/cgroup.controllers': 'cpu memory pids\n',
    '/cg/cgroup.subtree_control': 'memory\n',
  });
  await cgroupV2(fs, '/cg').create('/cg', '/kubepods/pod1');
  assert.equal(await fs.readText('/cg/cgroup.subtree_control'), '+cpu +pids');
  assert.equal(await fs.readText('/cg/kubepods/cgroup.subtree_control'), '+cpu +memory +pids');
  assert.deepEqual(await fs.readDirectory('/cg/kubepods/pod1'), []);
});

test('version 2 enables controllers one by one when enabling all at once fails', async () => {
  const fs = await cgroupFiles({ '/cg/cgroup.controllers': 'cpu pids\n' });
  fs.errors.failNext('writeFile', 'EINVAL', '/cg/cgroup.subtree_control');
  fs.errors.failNext('writeFile', 'EINVAL', '/cg/cgroup.subtree_control');
  await cgroupV2(fs, '/cg').create('/cg', '/kubepods');
  assert.equal(await fs.readText('/cg/cgroup.subtree_control'), '+pids');
});

const updatesV2 = {
  'translates every value': {
    values: {
      cpuShares: 1024,
      cpuQuotaMicroseconds: 20_000,
      cpuPeriodMicroseconds: 50_000,
      memoryLimitBytes: 4096,
      pidsLimit: 10,
    },
    files: { 'cpu.max': '20000 50000', 'cpu.weight': '39', 'memory.max': '4096', 'pids.max': '10' },
  },
  'protects memory': {
    values: { memoryMinBytes: 8192, memoryLowBytes: 0 },
    files: { 'cpu.max': 'max 100000\n', 'memory.low': '0', 'memory.min': '8192' },
  },
  'keeps the period when only the quota changes': {
    values: { cpuQuotaMicroseconds: 5000 },
    files: { 'cpu.max': '5000 100000' },
  },
  'keeps the quota when only the period changes': {
    values: { cpuPeriodMicroseconds: 10_000 },
    files: { 'cpu.max': 'max 10000' },
  },
  'writes negative limits as `max`': {
    values: { cpuQuotaMicroseconds: -1, memoryLimitBytes: -1, pidsLimit: -1 },
    files: { 'cpu.max': 'max 100000', 'memory.max': 'max', 'pids.max': 'max' },
  },
};

for (const [name, { values, files }] of Object.entries(updatesV2)) {
  test(`version 2 ${name}`, async () => {
    const fs = await cgroupFiles({ '/cg/a/cpu.max': 'max 100000\n' });
    await cgroupV2(fs, '/cg').update('/a', values);
    const written = await Promise.all(
      (await fs.readDirectory('/cg/a')).map(async ({ name: file }) => [file, await fs.readText(`/cg/a/${file}`)]),
    );
    assert.deepEqual(Object.fromEntries(written), files);
  });
}

test('version 1 writes the period again when the kernel accepts it only after the quota', async () => {
  const fs = await cgroupFiles({ '/cg/cpu/a/cpu.shares': '1024' });
  fs.errors.failNext('writeFile', 'EINVAL', '/cg/cpu/a/cpu.cfs_period_us');
  await cgroupV1(fs, '/cg').update('/a', { cpuQuotaMicroseconds: 1000, cpuPeriodMicroseconds: 10_000 });
  assert.equal(await fs.readText('/cg/cpu/a/cpu.cfs_quota_us'), '1000');
  assert.equal(await fs.readText('/cg/cpu/a/cpu.cfs_period_us'), '10000');
});

test('version 1 rejects a period that the kernel does not accept at all', async () => {
  const fs = await cgroupFiles({ '/cg/cpu/a/cpu.shares': '1024' });
  fs.errors.failNext('writeFile', 'EINVAL', '/cg/cpu/a/cpu.cfs_period_us');
  await assert.rejects(cgroupV1(fs, '/cg').update('/a', { cpuPeriodMicroseconds: 1 }), { code: 'EINVAL' });
});

test('huge pages are limited where the kernel counts them, in both versions', async () => {
  const fs = await cgroupFiles({
    '/v1/hugetlb/a/hugetlb.2MB.limit_in_bytes': 'max',
    '/v2/a/hugetlb.2MB.max': 'max',
    '/v2/a/hugetlb.2MB.rsvd.max': 'max',
  });
  const values = { hugePageLimits: { '2MB': 4_194_304, '1GB': 0 } };
  await cgroupV1(fs, '/v1').update('/a', values);
  await cgroupV2(fs, '/v2').update('/a', values);
  for (const path of [
    '/v1/hugetlb/a/hugetlb.2MB.limit_in_bytes',
    '/v2/a/hugetlb.2MB.max',
    '/v2/a/hugetlb.2MB.rsvd.max',
  ]) {
    assert.equal(await fs.readText(path), '4194304');
  }
  assert.deepEqual(
    (await fs.readDirectory('/v2/a')).map(({ name }) => name),
    ['hugetlb.2MB.max', 'hugetlb.2MB.rsvd.max'],
  );
});
