import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../api/generated/core-v1.ts';
import { observedContainer, READY_SANDBOX } from '../pod/observed-container.fixture.ts';
import { type PodStatsInputs, type PodStorage, podStats } from './pod-stats.ts';

const TIME = '2026-11-16T18:00:00Z';
const LATER = '2026-11-16T18:00:05Z';
const DISK = { capacityBytes: 1000, availableBytes: 300, usedBytes: 650, inodes: 50, inodesFree: 10 };
const ON_DISK = { availableBytes: 300, capacityBytes: 1000, inodesFree: 10, inodes: 50 };
const CPU = { cpu: { time: TIME, usageCoreNanoSeconds: 9 } };
const NETWORK = { time: TIME, name: 'eth0', interfaces: [] };
const NODE_NETWORK = { ...NETWORK, name: 'eth7' };
const MAIN = observedContainer('main', { state: 'running', startedAt: 2n }, { createdAt: 3_000_000_000n });
const REF = { podRef: { name: 'web', namespace: 'default', uid: 'u1' }, startTime: '1970-01-01T00:00:02Z' };
const MAIN_SHOWN = { name: 'main', startTime: '1970-01-01T00:00:03Z', ...CPU };

const usage = (usedBytes: number) => ({
  capacityBytes: 1000,
  availableBytes: 300,
  usedBytes,
  inodes: 50,
  inodesFree: 10,
  inodesUsed: 2,
  measuredMs: 1000,
});
const volumeShown = (name: string, usedBytes: number, more: object = {}) => ({
  time: '1970-01-01T00:00:01Z',
  ...ON_DISK,
  usedBytes,
  inodesUsed: 2,
  name,
  ...more,
});

const STORAGE: PodStorage = {
  nodeDisk: DISK,
  layerDisks: new Map([['/disk', DISK]]),
  files: undefined,
  volumes: new Map(),
};

function inputs(
  more: Partial<PodStatsInputs> = {},
  volumes: readonly Volume[] = [],
  hostNetwork = false,
): PodStatsInputs {
  const sandbox = { ...READY_SANDBOX, createdAt: 2_000_000_000n, hostNetwork };
  const observed = {
    uid: 'u1',
    name: 'web',
    namespace: 'default',
    sandboxes: [sandbox],
    containers: [MAIN],
    inspectedAt: 0,
  };
  return {
    target: { pod: observed, sandbox, containers: [MAIN], cgroup: '/kubepods/podu1' },
    pod: { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [], volumes } },
    reading: { ...CPU, network: NETWORK, processCount: 4, containers: new Map([['main-0', CPU]]) },
    storage: undefined,
    hostNetwork: NODE_NETWORK,
    time: TIME,
    ...more,
  };
}

const files = {
  logs: new Map([['main', { time: LATER, usedBytes: 10, inodesUsed: 1 }]]),
  others: { time: TIME, usedBytes: 3, inodesUsed: 1 },
};
const layer = { time: TIME, mountpoint: '/disk', usedBytes: 100, inodesUsed: 7 };
const measured = { ...CPU, containers: new Map([['main-0', { ...CPU, layer }]]) };
const ROOTFS = { time: TIME, ...ON_DISK, usedBytes: 100, inodesUsed: 7 };
const LOGS = { time: LATER, ...ON_DISK, usedBytes: 10, inodesUsed: 1 };
const VOLUMES: readonly Volume[] = [
  { name: 'claim', persistentVolumeClaim: { claimName: 'data' } },
  { name: 'cache', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory' } },
  { name: 'generic', ephemeral: {} },
  { name: 'unmeasured', emptyDir: {} },
];
const usages = new Map(['claim', 'cache', 'memory', 'generic'].map((name, index) => [name, usage(1000 * (index + 1))]));

const cases: Record<string, { given: PodStatsInputs; wanted: object }> = {
  'has only CPU and memory if nothing else is asked for': {
    given: inputs(),
    wanted: { ...REF, containers: [MAIN_SHOWN], ...CPU },
  },
  'without measured disks has the free space of the node': {
    given: inputs({ storage: STORAGE }),
    wanted: {
      ...REF,
      containers: [MAIN_SHOWN],
      ...CPU,
      network: NETWORK,
      'ephemeral-storage': { time: TIME, ...ON_DISK },
      process_stats: { process_count: 4 },
    },
  },
  'on the host network has the network of the node': {
    given: inputs({ storage: { ...STORAGE, nodeDisk: undefined } }, [], true),
    wanted: {
      ...REF,
      containers: [MAIN_SHOWN],
      ...CPU,
      network: NODE_NETWORK,
      'ephemeral-storage': { time: TIME },
      process_stats: { process_count: 4 },
    },
  },
  'adds up layers, logs and its own files, at the newest time': {
    given: inputs({ reading: measured, storage: { ...STORAGE, files } }),
    wanted: {
      ...REF,
      containers: [{ ...MAIN_SHOWN, rootfs: ROOTFS, logs: LOGS }],
      ...CPU,
      'ephemeral-storage': { time: LATER, ...ON_DISK, usedBytes: 113, inodesUsed: 9 },
    },
  },
  'takes the last known layer if none was read': {
    given: inputs({
      reading: { containers: new Map([['main-0', CPU]]) },
      layers: new Map([['main-0', layer]]),
      storage: STORAGE,
    }),
    wanted: {
      ...REF,
      containers: [{ ...MAIN_SHOWN, rootfs: ROOTFS }],
      'ephemeral-storage': ROOTFS,
    },
  },
  'counts only local volumes as ephemeral storage, and shows them first': {
    given: inputs({ reading: undefined, storage: { ...STORAGE, volumes: usages } }, VOLUMES),
    wanted: {
      ...REF,
      containers: [],
      volume: [
        volumeShown('cache', 2000),
        volumeShown('claim', 1000, { pvcRef: { name: 'data', namespace: 'default' } }),
        volumeShown('memory', 3000),
        volumeShown('generic', 4000, { pvcRef: { name: 'web-generic', namespace: 'default' } }),
      ],
      'ephemeral-storage': { time: TIME, ...ON_DISK, usedBytes: 2000, inodesUsed: 2 },
    },
  },
  'of an unknown spec has its containers': {
    given: inputs({ pod: undefined }),
    wanted: { ...REF, containers: [MAIN_SHOWN], ...CPU },
  },
};

for (const [name, { given, wanted }] of Object.entries(cases)) {
  test(`a pod ${name}`, () => assert.deepEqual(podStats(given), wanted));
}

test('fields have the order of kubelet', () => {
  const all = { ...measured, network: NETWORK, processCount: 1, memory: CPU.cpu, swap: CPU.cpu, io: CPU.cpu };
  const shown = podStats(inputs({ reading: all, storage: { ...STORAGE, files, volumes: usages } }, VOLUMES));
  assert.deepEqual(Object.keys(shown), [
    'podRef',
    'startTime',
    'containers',
    'cpu',
    'memory',
    'io',
    'network',
    'volume',
    'ephemeral-storage',
    'process_stats',
    'swap',
  ]);
});
