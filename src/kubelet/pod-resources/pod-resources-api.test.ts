import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { type AllocatedPart, composeAllocated } from './compose-allocated.ts';
import { podResourcesApi } from './pod-resources-api.ts';

const CONTAINER = { image: 'busybox' };

function pod(name: string, spec: object = {}): Pod {
  return examplePod({
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { containers: [{ ...CONTAINER, name: 'main' }], ...spec },
  });
}

const CPUS: AllocatedPart = {
  cpus: (uid, container) => (uid === 'uid-web' && container === 'main' ? [2, 3] : []),
  allocatable: () => ({ cpus: [1, 2, 3] }),
};
const MEMORY: AllocatedPart = {
  memory: (uid, container) =>
    uid === 'uid-web' && container === 'main' ? [{ type: 'hugepages-2Mi', bytes: 4_194_304, numaNodes: [0, 1] }] : [],
  allocatable: () => ({ memory: [{ type: 'memory', bytes: 2 ** 33, numaNodes: [0] }] }),
};
const DEVICES: AllocatedPart = {
  devices: (_uid, container) =>
    container === 'main' ? [{ resourceName: 'example.com/gpu', deviceIds: ['a', 'b'], numaNodes: [0, 1] }] : [],
  allocatable: () => ({ devices: [{ resourceName: 'example.com/gpu', deviceIds: ['a'], numaNodes: [] }] }),
};
const DRA: AllocatedPart = {
  claims: ({ metadata }, container) =>
    metadata.name === 'web' && container === 'main'
      ? [
          {
            claimName: 'claim',
            claimNamespace: 'default',
            resources: [{ cdiDevices: ['v/c=d'], driverName: 'drv', poolName: 'pool', deviceName: 'd0', shareId: 's' }],
          },
        ]
      : [],
};

function api(
  active: readonly Pod[],
  { ended = [], listsActivePods = true }: { ended?: Pod[]; listsActivePods?: boolean } = {},
) {
  return podResourcesApi({
    pods: { all: () => [...active, ...ended], active: () => active },
    allocated: composeAllocated([CPUS, MEMORY, DEVICES, DRA]),
    listsActivePods,
  });
}

const device = (id: string, node: bigint) => ({
  resourceName: 'example.com/gpu',
  deviceIds: [id],
  topology: { nodes: [{ ID: node }] },
});

test('a container has its CPUs, memory, one message for each device and NUMA node, and its claims', () => {
  const [found] = api([pod('web')]).list().podResources;
  assert.deepEqual(found, {
    name: 'web',
    namespace: 'default',
    containers: [
      {
        name: 'main',
        devices: [device('a', 0n), device('a', 1n), device('b', 0n), device('b', 1n)],
        cpuIds: [2n, 3n],
        memory: [{ memoryType: 'hugepages-2Mi', size: 4_194_304n, topology: { nodes: [{ ID: 0n }, { ID: 1n }] } }],
        dynamicResources: [
          {
            claimName: 'claim',
            claimNamespace: 'default',
            claimResources: [
              { cdiDevices: [{ name: 'v/c=d' }], driverName: 'drv', poolName: 'pool', deviceName: 'd0', shareId: 's' },
            ],
          },
        ],
      },
    ],
  });
});

test('sidecars are listed before the containers; other init containers are not', () => {
  const initContainers = [
    { ...CONTAINER, name: 'setup' },
    { ...CONTAINER, name: 'proxy', restartPolicy: 'Always' },
  ];
  const service = api([pod('web', { initContainers })]);
  const names = (response: ReturnType<typeof service.list>) =>
    response.podResources.flatMap(({ containers }) => containers.map(({ name }) => name));
  assert.deepEqual(names(service.list()), ['proxy', 'main']);
  assert.deepEqual(names(service.listAlpha()), ['main']);
});

test('terminated pods are listed only without KubeletPodResourcesListUseActivePods, and Get never has them', () => {
  const names = (service: ReturnType<typeof api>) => service.list().podResources.map(({ name }) => name);
  const [active, ended] = [[pod('web')], [pod('job')]];
  assert.deepEqual(names(api(active, { ended })), ['web']);
  const all = api(active, { ended, listsActivePods: false });
  assert.deepEqual(names(all), ['web', 'job']);
  assert.equal(all.get({ podName: 'web', podNamespace: 'default' }).podResources?.name, 'web');
  for (const name of ['job', 'none']) {
    assert.throws(() => all.get({ podName: name, podNamespace: 'default' }), {
      message: `pod ${name} in namespace default not found`,
    });
  }
});

test('v1alpha1 lists every pod with its devices alone', () => {
  const [web] = api([pod('web')], { ended: [pod('job')] }).listAlpha().podResources;
  const alpha = (id: string) => ({ resourceName: 'example.com/gpu', deviceIds: [id], topology: undefined });
  assert.deepEqual(web?.containers, [
    {
      name: 'main',
      devices: [alpha('a'), alpha('a'), alpha('b'), alpha('b')],
      cpuIds: [],
      memory: [],
      dynamicResources: [],
    },
  ]);
});

test('allocatable resources are those of all managers; a device without NUMA nodes has no topology', () => {
  assert.deepEqual(api([]).getAllocatableResources(), {
    devices: [{ resourceName: 'example.com/gpu', deviceIds: ['a'], topology: undefined }],
    cpuIds: [1n, 2n, 3n],
    memory: [{ memoryType: 'memory', size: 2n ** 33n, topology: { nodes: [{ ID: 0n }] } }],
  });
  assert.deepEqual(composeAllocated([]).allocatable(), { cpus: [], memory: [], devices: [] });
});
