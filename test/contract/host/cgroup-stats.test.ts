/** The contract of cgroup statistics; the real implementations read plain files with the kernel's content. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CgroupDetails, CgroupStats } from '../../../src/host/cgroup-stats.ts';
import { MemoryCgroupStats } from '../../../src/host/fake/memory-cgroup-stats.ts';
import { createLinuxCgroupStats } from '../../../src/host/linux/cgroup/linux-cgroup-stats.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PATH = '/kubepods/pod1/c1';

const V1: Record<string, string> = {
  [`cpuacct${PATH}/cpuacct.usage`]: '18014398509481985\n',
  [`cpuacct${PATH}/cpuacct.usage_user`]: '300\n',
  [`cpuacct${PATH}/cpuacct.usage_sys`]: '200\n',
  [`cpu${PATH}/cpu.stat`]: 'nr_periods 5\nnr_throttled 2\nthrottled_time 7000\nnr_bursts 1\nburst_time 9000\n',
  [`cpu${PATH}/cpu.shares`]: '998\n',
  [`cpu${PATH}/cpu.cfs_period_us`]: '100000\n',
  [`cpu${PATH}/cpu.cfs_quota_us`]: '20000\n',
  [`memory${PATH}/memory.soft_limit_in_bytes`]: '16\n',
  [`memory${PATH}/memory.usage_in_bytes`]: '1000\n',
  [`memory${PATH}/memory.limit_in_bytes`]: '4096\n',
  [`memory${PATH}/memory.memsw.limit_in_bytes`]: '6096\n',
  [`memory${PATH}/memory.max_usage_in_bytes`]: '1500\n',
  [`memory${PATH}/memory.kmem.usage_in_bytes`]: '64\n',
  [`memory${PATH}/memory.failcnt`]: '3\n',
  [`memory${PATH}/memory.oom_control`]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
  [`memory${PATH}/memory.stat`]:
    'cache 1\nrss 1\ntotal_cache 700\ntotal_rss 250\ntotal_mapped_file 30\ntotal_swap 20\ntotal_pgfault 11\ntotal_pgmajfault 4\ntotal_inactive_file 400\ntotal_active_file 300\n',
  [`pids${PATH}/pids.current`]: '6\n',
  [`pids${PATH}/pids.max`]: 'max\n',
  [`pids${PATH}/cgroup.procs`]: '41\n42\n',
  [`blkio${PATH}/blkio.throttle.io_service_bytes_recursive`]:
    '8:0 Read 4096\n8:0 Write 512\n8:0 Total 4608\nTotal 4608\n',
  [`blkio${PATH}/blkio.throttle.io_serviced_recursive`]: '8:0 Read 2\n8:0 Write 1\n8:0 Total 3\nTotal 3\n',
};

const stall = (total: number) =>
  `some avg10=1.50 avg60=0.50 avg300=0.10 total=${total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n`;

const V2: Record<string, string> = {
  'cgroup.controllers': 'cpu memory\n',
  [`${PATH}/cpu.stat`]:
    'usage_usec 18014398509481\nuser_usec 300\nsystem_usec 200\nnr_periods 5\nnr_throttled 2\nthrottled_usec 7\nnr_bursts 1\nburst_usec 9\n',
  [`${PATH}/cpu.weight`]: '39\n',
  [`${PATH}/cpu.max`]: '20000 100000\n',
  [`${PATH}/memory.min`]: '16\n',
  [`${PATH}/cpu.pressure`]: stall(1),
  [`${PATH}/memory.pressure`]: stall(2),
  [`${PATH}/io.pressure`]: stall(3),
  [`${PATH}/memory.current`]: '1000\n',
  [`${PATH}/memory.max`]: '4096\n',
  [`${PATH}/memory.peak`]: '1500\n',
  [`${PATH}/memory.events`]: 'low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n',
  [`${PATH}/memory.swap.current`]: '20\n',
  [`${PATH}/memory.swap.max`]: '2000\n',
  [`${PATH}/memory.stat`]:
    'anon 250\nfile 700\nkernel 64\nfile_mapped 30\ninactive_file 400\nactive_file 300\npgfault 11\npgmajfault 4\n',
  [`${PATH}/pids.current`]: '6\n',
  [`${PATH}/pids.max`]: 'max\n',
  [`${PATH}/cgroup.procs`]: '41\n42\n',
  [`${PATH}/io.stat`]: '8:0 rbytes=4096 wbytes=512 rios=2 wios=1 dbytes=0 dios=0\n',
};

const FIGURES: CgroupDetails = {
  cpuNs: 18014398509481985n,
  memory: {
    usageBytes: 1000,
    workingSetBytes: 600,
    rssBytes: 250,
    pageFaults: 11,
    majorPageFaults: 4,
    limitBytes: 4096,
  },
  swap: { usageBytes: 20, limitBytes: 2000 },
  threads: 6,
  cpu: {
    userNs: 300n,
    systemNs: 200n,
    periods: 5,
    throttledPeriods: 2,
    throttledNs: 7000n,
    burstPeriods: 1,
    burstNs: 9000n,
  },
  limits: {
    cpuShares: 998,
    cpuPeriodMicroseconds: 100_000,
    cpuQuotaMicroseconds: 20_000,
    memoryReservationBytes: 16,
  },
  memoryDetails: {
    cacheBytes: 700,
    kernelBytes: 64,
    mappedFileBytes: 30,
    activeFileBytes: 300,
    inactiveFileBytes: 400,
    maxUsageBytes: 1500,
    limitHits: 3,
    oomKills: 1,
  },
  processes: [41, 42],
  devices: [{ major: 8, minor: 0, readBytes: 4096n, writeBytes: 512n, reads: 2n, writes: 1n }],
};

const quiet = { totalMicroseconds: 0n, avg10: 0, avg60: 0, avg300: 0 };
const busy = (totalMicroseconds: bigint) => ({
  some: { totalMicroseconds, avg10: 1.5, avg60: 0.5, avg300: 0.1 },
  full: quiet,
});
const V2_FIGURES: CgroupDetails = {
  ...FIGURES,
  cpuNs: 18014398509481000n,
  cpu: { ...FIGURES.cpu, userNs: 300_000n, systemNs: 200_000n },
  pressure: { cpu: busy(1n), memory: busy(2n), io: busy(3n) },
};

/** Seconds since 1970. */
const CREATED = 1_700_000_000;
const NET_DEV = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       7       1    0    0    0     0          0         0        7       1    0    0    0     0       0          0
`;
const LOOPBACK = [
  {
    name: 'lo',
    received: { bytes: 7n, packets: 1n, errors: 0n, dropped: 0n },
    sent: { bytes: 7n, packets: 1n, errors: 0n, dropped: 0n },
  },
];

contract('linux v1', (t) => linuxWorld(t, V1), FIGURES);
contract('linux v2', (t) => linuxWorld(t, V2), V2_FIGURES);
contract(
  'memory',
  async () => {
    const stats = new MemoryCgroupStats();
    stats.set(PATH, FIGURES);
    for (const path of ['/kubepods', '/kubepods/pod1']) stats.set(path, {});
    stats.setCreated(PATH, CREATED * 1000);
    stats.setProcess(41, { files: { descriptors: 3, sockets: 1 }, fileLimit: 1024, interfaces: LOOPBACK });
    stats.setProcess(42, { files: { descriptors: 0, sockets: 0 }, fileLimit: 'unlimited' });
    return stats;
  },
  FIGURES,
);

async function linuxWorld(t: TestContext, files: Record<string, string>): Promise<CgroupStats> {
  const root = await treeOf(t, files);
  const folder = join(root, 'cgroup.controllers' in files ? '' : 'memory', PATH);
  writeFileSync(join(folder, 'cgroup.clone_children'), '0\n');
  writeFileSync(join(folder, 'cgroup.events'), 'populated 1\n');
  for (const name of ['cgroup.clone_children', 'cgroup.events']) utimesSync(join(folder, name), CREATED, CREATED);
  return createLinuxCgroupStats({ root, proc: await procOf(t) });
}

/** Two processes: one with files, and one without a limit of them. */
async function procOf(t: TestContext): Promise<string> {
  const limits = (soft: string): string =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 524288               files\n`;
  const root = await treeOf(t, {
    '41/limits': limits('1024'),
    '41/net/dev': NET_DEV,
    '42/limits': limits('unlimited'),
  });
  for (const pid of ['41', '42']) mkdirSync(join(root, pid, 'fd'));
  symlinkSync('/dev/null', join(root, '41/fd/0'));
  symlinkSync('pipe:[7]', join(root, '41/fd/1'));
  symlinkSync('socket:[8]', join(root, '41/fd/2'));
  return root;
}

async function treeOf(t: TestContext, files: Record<string, string>): Promise<string> {
  const root = await temporaryFolder(t);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

function contract(name: string, makeStats: (t: TestContext) => Promise<CgroupStats>, figures: CgroupDetails): void {
  test(`${name} cgroup stats: reads every figure, and leaves out missing cgroups`, async (t) => {
    const stats = await makeStats(t);
    assert.deepEqual([...(await stats.details(['/none', PATH]))], [[PATH, figures]]);
    const usage = (await stats.usage([PATH, '/none'])).get(PATH);
    const { cpuNs, memory, swap, processes, pressure } = usage ?? {};
    assert.deepEqual(
      { cpuNs, memory, swap, processes, pressure },
      {
        cpuNs: figures.cpuNs,
        memory: figures.memory,
        swap: figures.swap,
        processes: figures.processes,
        pressure: figures.pressure,
      },
    );
  });

  test(`${name} cgroup stats: lists cgroups with the time of their creation, parents first`, async (t) => {
    const stats = await makeStats(t);
    const tree = await stats.tree(['/kubepods', '/none', PATH]);
    assert.deepEqual([...tree.keys()], ['/kubepods', '/kubepods/pod1', PATH]);
    assert.equal(tree.get(PATH), CREATED * 1000);
  });

  test(`${name} cgroup stats: counts open files and traffic of processes, and leaves out ended ones`, async (t) => {
    const stats = await makeStats(t);
    assert.deepEqual(
      [...(await stats.openFiles([41, 7, 42]))],
      [
        [41, { descriptors: 3, sockets: 1 }],
        [42, { descriptors: 0, sockets: 0 }],
      ],
    );
    assert.deepEqual(
      [...(await stats.fileLimits([41, 7, 42]))],
      [
        [41, 1024],
        [42, 'unlimited'],
      ],
    );
    assert.deepEqual([...(await stats.interfaces([41, 7]))], [[41, LOOPBACK]]);
  });

  test(`${name} cgroup stats: many at once`, async (t) => {
    const stats = await makeStats(t);
    const paths = Array.from({ length: 50 }, (_, index) => (index === 40 ? PATH : `/none${index}`));
    assert.deepEqual([...(await stats.usage(paths)).keys()], [PATH]);
  });
}

const UNLIMITED: Record<string, [files: Record<string, string>, changed: Record<string, string>]> = {
  v1: [
    V1,
    {
      [`memory${PATH}/memory.limit_in_bytes`]: '9223372036854771712\n',
      [`memory${PATH}/memory.memsw.limit_in_bytes`]: '9223372036854771712\n',
    },
  ],
  v2: [V2, { [`${PATH}/memory.max`]: 'max\n', [`${PATH}/memory.swap.max`]: 'max\n' }],
};

for (const [version, [files, changed]] of Object.entries(UNLIMITED)) {
  test(`linux ${version} cgroup stats: an absent limit is undefined`, async (t) => {
    const stats = await linuxWorld(t, { ...files, ...changed });
    const usage = (await stats.usage([PATH])).get(PATH);
    assert.deepEqual([usage?.memory.limitBytes, usage?.swap], [undefined, { usageBytes: 20 }]);
  });
}

test('linux v2 cgroup stats: a kernel without swap and pressure reports neither', async (t) => {
  const files = Object.entries(V2).filter(([path]) => !/swap|pressure/.test(path));
  const usage = (await (await linuxWorld(t, Object.fromEntries(files))).usage([PATH])).get(PATH);
  assert.deepEqual([usage?.swap, usage?.pressure], [undefined, undefined]);
});

test('linux v2 cgroup stats: memory of the root, which has no file for it, is that of the machine', async (t) => {
  const root = await treeOf(t, {
    'cgroup.controllers': 'cpu memory\n',
    'cpu.stat': 'usage_usec 7\n',
    'memory.stat': 'anon 2048\nfile 700\ninactive_file 1024\n',
    meminfo: 'MemTotal:    10 kB\nMemFree:    4 kB\nSwapTotal:    8 kB\nSwapFree:    5 kB\n',
  });
  const stats = createLinuxCgroupStats({ root, meminfo: join(root, 'meminfo') });
  const usage = (await stats.usage(['/'])).get('/');
  assert.deepEqual(
    [usage?.cpuNs, usage?.memory.usageBytes, usage?.memory.workingSetBytes, usage?.memory.rssBytes, usage?.swap],
    [7000n, 6144, 5120, 2048, { usageBytes: 3072 }],
  );
});
