import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CgroupDetails } from '../../host/cgroup-stats.ts';
import { CGROUP_METRICS, cgroupTexts, machineTexts, scrapeError, versionTexts } from './cadvisor-page.ts';
import type { CgroupView } from './cgroup-view.ts';
import { pageText } from './metrics-page.ts';

const FIGURES: CgroupDetails = {
  cpuNs: 1_500_000_000n,
  memory: { usageBytes: 3_000_000, workingSetBytes: 2000, rssBytes: 1000, pageFaults: 11, majorPageFaults: 4 }, // words: quoted
  threads: 6,
  cpu: {
    userNs: 1_000_000_000n,
    systemNs: 500_000_000n,
    periods: 5,
    throttledPeriods: 2,
    throttledNs: 7_000_000n,
    burstPeriods: 1,
    burstNs: 9_000_000n,
  },
  limits: {},
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
  devices: [],
};

const VIEW: CgroupView = {
  labels: {
    container: 'main',
    id: '/kubepods/pod1/c1',
    image: 'busybox',
    name: 'c1',
    namespace: 'default',
    pod: 'web',
  },
  createdSeconds: 1_700_000_000,
  timeMs: 1_700_000_009_500,
  figures: FIGURES,
  swapLimitBytes: undefined,
  openFiles: { descriptors: 7, sockets: 2 },
  fileLimit: undefined,
  interfaces: [],
  fileSystems: [],
  deviceName: (device) => (device === '8:0' ? '/dev/sda' : ''),
};

const LABELS = 'container="main",id="/kubepods/pod1/c1",image="busybox",name="c1",namespace="default",pod="web"';
const DISK = {
  device: '/dev/sda',
  reads: 1,
  readsMerged: 2,
  sectorsRead: 3,
  readMs: 4000,
  writes: 5,
  writesMerged: 6,
  sectorsWritten: 7,
  writeMs: 8,
  inProgress: 9,
  ioMs: 10,
  weightedMs: 11,
};
const PLACE = { device: '/dev/sda', capacityBytes: 1000, usedBytes: 600, inodes: 50, inodesFree: 10 };
const stall = (us: bigint) => ({ totalMicroseconds: us, avg10: 0, avg60: 0, avg300: 0 });
const pressure = { some: stall(2_500_000n), full: stall(500_000n) };

const cases: Record<string, { given: Partial<CgroupView>; name: string; lines: readonly string[] }> = {
  'CPU in seconds with the time of the reading': {
    given: {},
    name: 'container_cpu_usage_seconds_total',
    lines: [
      'container_cpu_usage_seconds_total{container="main",cpu="total",id="/kubepods/pod1/c1",image="busybox",name="c1",namespace="default",pod="web"} 1.5 1700000009500',
    ],
  },
  'no CPU before any was used': {
    given: { figures: { ...FIGURES, cpuNs: 0n } },
    name: 'container_cpu_usage_seconds_total',
    lines: [],
  },
  'no throttling without a quota': { given: {}, name: 'container_cpu_cfs_periods_total', lines: [] },
  'throttling with a quota': {
    given: { figures: { ...FIGURES, limits: { cpuQuotaMicroseconds: 20_000 } } },
    name: 'container_cpu_cfs_throttled_seconds_total',
    lines: [`container_cpu_cfs_throttled_seconds_total{${LABELS}} 0.007 1700000009500`],
  },
  'large figures with an exponent': {
    given: {},
    name: 'container_memory_usage_bytes',
    lines: [`container_memory_usage_bytes{${LABELS}} 3e+06 1700000009500`],
  },
  'failures of memory in both scopes': {
    given: {},
    name: 'container_memory_failures_total',
    lines: [
      ['pgfault', 'container', 11], // words: quoted
      ['pgfault', 'hierarchy', 11], // words: quoted
      ['pgmajfault', 'container', 4], // words: quoted
      ['pgmajfault', 'hierarchy', 4], // words: quoted
    ].map(
      ([type, scope, value]) =>
        `container_memory_failures_total{container="main",failure_type="${type}",id="/kubepods/pod1/c1",image="busybox",name="c1",namespace="default",pod="web",scope="${scope}"} ${value} 1700000009500`,
    ),
  },
  'limits without a time, zero for none': {
    given: {},
    name: 'container_spec_memory_limit_bytes',
    lines: [`container_spec_memory_limit_bytes{${LABELS}} 0`],
  },
  'no quota without one': { given: {}, name: 'container_spec_cpu_quota', lines: [] },
  'the start in seconds': {
    given: {},
    name: 'container_start_time_seconds',
    lines: [`container_start_time_seconds{${LABELS}} 1.7e+09`],
  },
  'an unlimited number of files as -1': {
    given: { fileLimit: 'unlimited' },
    name: 'container_ulimits_soft',
    lines: [`container_ulimits_soft{${LABELS},ulimit="max_open_files"} -1 1700000009500`],
  },
  'no limit of files of a cgroup without a first process': { given: {}, name: 'container_ulimits_soft', lines: [] },
  'traffic by interface': {
    given: {
      interfaces: [
        {
          name: 'eth0',
          received: { bytes: 5n, packets: 1n, errors: 0n, dropped: 0n },
          sent: { bytes: 7n, packets: 1n, errors: 0n, dropped: 0n },
        },
      ],
    },
    name: 'container_network_receive_bytes_total',
    lines: [
      'container_network_receive_bytes_total{container="main",id="/kubepods/pod1/c1",image="busybox",interface="eth0",name="c1",namespace="default",pod="web"} 5 1700000009500',
    ],
  },
  'what is used of a file system': {
    given: { fileSystems: [PLACE] },
    name: 'container_fs_usage_bytes',
    lines: [
      'container_fs_usage_bytes{container="main",device="/dev/sda",id="/kubepods/pod1/c1",image="busybox",name="c1",namespace="default",pod="web"} 600 1700000009500',
    ],
  },
  'the time of disks in seconds': {
    given: { fileSystems: [{ ...PLACE, counters: DISK }] },
    name: 'container_fs_read_seconds_total',
    lines: [
      'container_fs_read_seconds_total{container="main",device="/dev/sda",id="/kubepods/pod1/c1",image="busybox",name="c1",namespace="default",pod="web"} 4 1700000009500',
    ],
  },
  'nothing of a file system without a disk': {
    given: { fileSystems: [PLACE] },
    name: 'container_fs_io_current',
    lines: [],
  },
  'what the cgroup has transferred': {
    given: {
      figures: {
        ...FIGURES,
        devices: [{ major: 8, minor: 0, readBytes: 4096n, writeBytes: 512n, reads: 2n, writes: 1n }],
      },
    },
    name: 'container_blkio_device_usage_total',
    lines: [
      ['Read', 4096],
      ['Write', 512],
    ].map(
      ([operation, value]) =>
        `container_blkio_device_usage_total{container="main",device="/dev/sda",id="/kubepods/pod1/c1",image="busybox",major="8",minor="0",name="c1",namespace="default",operation="${operation}",pod="web"} ${value} 1700000009500`,
    ),
  },
  'no pressure where the kernel does not count it': {
    given: {},
    name: 'container_pressure_cpu_waiting_seconds_total',
    lines: [],
  },
  'pressure in seconds': {
    given: { figures: { ...FIGURES, pressure: { cpu: pressure, memory: pressure, io: pressure } } },
    name: 'container_pressure_cpu_waiting_seconds_total',
    lines: [`container_pressure_cpu_waiting_seconds_total{${LABELS}} 2.5 1700000009500`],
  },
  'labels in quotes': {
    given: { labels: { ...VIEW.labels, image: 'a"b\\c' } },
    name: 'container_processes',
    lines: [`container_processes{${LABELS.replace('busybox', 'a\\"b\\\\c')}} 2 1700000009500`],
  },
};

for (const [name, { given, name: metric, lines }] of Object.entries(cases)) {
  test(`/metrics/cadvisor shows ${name}`, () => {
    const page = pageText(cgroupTexts([{ ...VIEW, ...given }]));
    const shown = page.split('\n').filter((line) => new RegExp(`^${metric}[{ ]`).test(line));
    assert.deepEqual(shown, lines);
  });
}

test('/metrics/cadvisor is ordered by name, then by container and cgroup', () => {
  const of = (container: string, id: string): CgroupView => ({ ...VIEW, labels: { ...VIEW.labels, container, id } });
  const page = pageText(cgroupTexts([of('main', '/b'), of('', '/c'), of('main', '/a'), of('', '/')]));
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  assert.deepEqual(
    lines
      .filter((line) => line.startsWith('container_processes'))
      .map((line) => /container="(.*)",image/.exec(line)?.[1]),
    ['",id="/', '",id="/c', 'main",id="/a', 'main",id="/b'],
  );
  const names = lines.map((line) => /^\w+/.exec(line)?.[0] ?? '');
  assert.deepEqual(names, names.toSorted());
});

test('every metric of a cgroup has a name of its own', () => {
  const names = CGROUP_METRICS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});

test('/metrics/cadvisor describes the machine', () => {
  const identity = {
    machineId: 'm',
    systemUuid: 's',
    bootId: 'b',
    kernelVersion: '6.1',
    osImage: 'Debian',
    swapBytes: 0,
  };
  const view = { cores: 4, physicalCores: 2, sockets: 1, memoryBytes: 1024, swapBytes: 0 };
  const lines = pageText([...machineTexts({ identity, view }), ...versionTexts({ identity }), ...scrapeError(1)]).split(
    '\n',
  );
  assert.deepEqual(
    lines.filter((line) => /^(machine_cpu_cores|machine_scrape|cadvisor|container_scrape|machine_nvm_cap)/.test(line)),
    [
      'cadvisor_version_info{cadvisorRevision="",cadvisorVersion="",dockerVersion="",kernelVersion="6.1",osVersion="Debian"} 1',
      'container_scrape_error 1',
      'machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="s"} 4',
      'machine_nvm_capacity{boot_id="b",machine_id="m",mode="app_direct_mode",system_uuid="s"} 0',
      'machine_nvm_capacity{boot_id="b",machine_id="m",mode="memory_mode",system_uuid="s"} 0',
      'machine_scrape_error 0',
    ],
  );
});
