import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryCgroupStats } from '../../host/fake/memory-cgroup-stats.ts';
import { observedContainer, READY_SANDBOX } from '../pod/observed-container.fixture.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { type CgroupOwner, cgroupLabels, cgroupOwners } from './cgroup-owners.ts';
import { type CgroupReadings, cgroupViews } from './cgroup-views.ts';
import { networkProcesses } from './network-processes.ts';

const MAIN = observedContainer('main', { state: 'running', startedAt: 2n });
const POD: ObservedPod = {
  uid: 'u1',
  name: 'web',
  namespace: 'default',
  sandboxes: [READY_SANDBOX],
  containers: [MAIN, observedContainer('done', { state: 'created' })],
  inspectedAt: 0,
};
const CGROUP = '/kubepods/podu1';
const OF_SANDBOX = `${CGROUP}/${READY_SANDBOX.id}`;
const OF_MAIN = `${CGROUP}/${MAIN.id}`;
const OWNERS = cgroupOwners([{ pod: POD, cgroup: CGROUP }], 'cgroupfs');
const NO_NAMES = { images: new Map<string, string>(), sandboxes: new Map<string, string>() };
const HASH = `sha256:${'1'.repeat(64)}`;
const traffic = { bytes: 1n, packets: 1n, errors: 0n, dropped: 0n };

test('cgroups of pods belong to the pod, its sandbox and its running containers', () => {
  assert.deepEqual(
    [...OWNERS].map(([path, { kind }]) => [path, kind]),
    [
      [CGROUP, 'pod'],
      [OF_SANDBOX, 'sandbox'],
      [OF_MAIN, 'container'],
    ],
  );
});

const none = { container: '', id: '/x', image: '', name: '', namespace: '', pod: '' };
const ofPod = { ...none, namespace: 'default', pod: 'web' };
const container = { kind: 'container', pod: POD, id: 'c1', name: 'main', image: 'busybox' } as const;
const labels: Record<string, { owner: CgroupOwner | undefined; labels: object }> = {
  'nothing of a cgroup without an owner': { owner: undefined, labels: none },
  'the pod of its cgroup': { owner: { kind: 'pod', pod: POD }, labels: ofPod },
  'the id and the image of a sandbox': {
    owner: { kind: 'sandbox', pod: POD, id: 's1' },
    labels: { ...ofPod, name: 's1', image: 'pause' },
  },
  'the name that the runtime has for an image': {
    owner: { ...container, imageId: HASH },
    labels: { ...ofPod, name: 'c1', container: 'main', image: 'docker.io/library/busybox:1' },
  },
  'an id that is a name': {
    owner: { ...container, imageId: 'localhost/b:1' },
    labels: { ...ofPod, name: 'c1', container: 'main', image: 'localhost/b:1' },
  },
  'the image of the spec if the runtime has no name': {
    owner: { ...container, imageId: `sha256:${'2'.repeat(64)}` },
    labels: { ...ofPod, name: 'c1', container: 'main', image: 'busybox' },
  },
};

for (const [name, { owner, labels: expected }] of Object.entries(labels)) {
  test(`labels show ${name}`, () => {
    const names = {
      images: new Map([[HASH, 'docker.io/library/busybox:1']]),
      sandboxes: new Map([['s1', 'pause']]),
    };
    assert.deepEqual(cgroupLabels('/x', owner, names), expected);
  });
}

const processes = (...pids: number[]) => ({ processes: pids });
const networks: Record<string, { figures: Record<string, { processes: number[] }>; shown: Record<string, number> }> = {
  'at the sandbox': {
    figures: { [CGROUP]: processes(), [OF_SANDBOX]: processes(7), [OF_MAIN]: processes(9) },
    shown: { '/': 1, [OF_SANDBOX]: 7 },
  },
  'at the pod, where the sandbox has no process': {
    figures: { [CGROUP]: processes(), [OF_MAIN]: processes(12, 9) },
    shown: { '/': 1, [CGROUP]: 9 },
  },
  'nowhere without a process': { figures: { [CGROUP]: processes() }, shown: { '/': 1 } },
};

for (const [name, { figures, shown }] of Object.entries(networks)) {
  test(`the network of a pod is shown ${name}`, () => {
    assert.deepEqual(Object.fromEntries(networkProcesses(OWNERS, new Map(Object.entries(figures)))), shown);
  });
}

async function readings(change: Partial<CgroupReadings> = {}): Promise<CgroupReadings> {
  const stats = new MemoryCgroupStats('v1');
  const limited = { usageBytes: 1, workingSetBytes: 1, rssBytes: 1, pageFaults: 0, majorPageFaults: 0 }; // words: quoted
  stats.set('/', { memory: limited });
  stats.set(CGROUP, {});
  stats.set(OF_MAIN, {
    memory: { ...limited, limitBytes: 100 },
    swap: { usageBytes: 0, limitBytes: 20 },
    processes: [9, 12],
  });
  return {
    version: 'v1',
    timeMs: 5000,
    machine: { memoryBytes: 1000, swapBytes: 50 },
    bootSeconds: 60,
    created: new Map([[OF_MAIN, 90_500]]),
    figures: await stats.details(['/', CGROUP, OF_MAIN]),
    owners: OWNERS,
    names: NO_NAMES,
    networks: new Map([[CGROUP, 9]]),
    openFiles: new Map([
      [1, { descriptors: 9, sockets: 3 }],
      [9, { descriptors: 3, sockets: 1 }],
      [12, { descriptors: 4, sockets: 0 }],
    ]),
    fileLimits: new Map<number, number | 'unlimited'>([
      [1, 'unlimited'],
      [9, 1024],
      [12, 7],
    ]),
    interfaces: new Map([
      [
        9,
        [
          { name: 'lo', received: traffic, sent: traffic },
          { name: 'eth0', received: traffic, sent: traffic },
        ],
      ],
    ]),
    disks: new Map([['8:0', { device: '/dev/sda' }]]),
    machineFileSystems: [{ device: '/dev/sda', capacityBytes: 9, usedBytes: 1, inodes: 2, inodesFree: 1 }],
    layerFileSystems: new Map([
      [MAIN.id, { device: '/dev/sda', capacityBytes: 9, usedBytes: 4, inodes: 2, inodesFree: 1 }],
    ]),
    ...change,
  };
}

test('views of cgroups have the limits, processes, networks and file systems of their owners', async () => {
  const [root, pod, main] = cgroupViews(await readings());
  assert.deepEqual(
    [root, pod, main].map((view) => ({
      limit: view?.figures.memory.limitBytes,
      swap: view?.swapLimitBytes,
      started: view?.createdSeconds,
      files: view?.openFiles,
      fileLimit: view?.fileLimit,
      interfaces: view?.interfaces.map(({ name }) => name),
      used: view?.fileSystems.map(({ usedBytes }) => usedBytes),
    })),
    [
      {
        limit: 1000,
        swap: 50,
        started: 60,
        files: { descriptors: 0, sockets: 0 },
        fileLimit: 'unlimited',
        interfaces: [],
        used: [1],
      },
      {
        limit: undefined,
        swap: undefined,
        started: 60,
        files: { descriptors: 0, sockets: 0 },
        fileLimit: undefined,
        interfaces: ['eth0'],
        used: [],
      },
      {
        limit: 100,
        swap: 120,
        started: 90,
        files: { descriptors: 7, sockets: 1 },
        fileLimit: 1024,
        interfaces: [],
        used: [4],
      },
    ],
  );
  assert.equal(main?.deviceName('8:0'), '/dev/sda');
});

test('version 2 limits swap alone', async () => {
  const views = cgroupViews(await readings({ version: 'v2' }));
  assert.deepEqual(
    views.map(({ swapLimitBytes }) => swapLimitBytes),
    [50, undefined, 20],
  );
});
