import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../../base/quantity.ts';
import { enforcedAmounts, type MachineResources, type NodeResources, nodeResources } from './node-resources.ts';

const GIB = 2 ** 30;
const MACHINE: MachineResources = {
  cpuCount: 4,
  memoryBytes: 8 * GIB,
  hugePages: { 'hugepages-2Mi': '0' },
  storageBytes: 100 * GIB,
};
const SETTINGS = {
  maxPods: 110,
  podsPerCore: 0,
  hasEphemeralStorage: true,
  systemReserved: new Map(),
  kubeReserved: new Map(),
  reservedCpus: 0,
  thresholds: [],
  reservesThresholds: true,
};
const BASE: NodeResources = {
  capacity: { cpu: '4', memory: '8Gi', 'hugepages-2Mi': '0', pods: '110', 'ephemeral-storage': '100Gi' },
  allocatable: { cpu: '4', memory: '8Gi', 'hugepages-2Mi': '0', pods: '110', 'ephemeral-storage': '100Gi' },
};

type Given = [
  machine?: Partial<MachineResources>,
  settings?: Partial<Parameters<typeof nodeResources>[1]>,
  before?: Parameters<typeof nodeResources>[2],
];

const cases: Record<string, { given: Given; capacity?: object; allocatable?: object }> = {
  'allocates the whole machine without reservations': { given: [] },
  'writes sizes in the largest unit without a fraction': {
    given: [{ memoryBytes: 24_684_100 * 1024 }],
    capacity: { memory: '24684100Ki' },
    allocatable: { memory: '24684100Ki' },
  },
  'subtracts the reservations for the system and for Kubernetes': {
    given: [
      {},
      {
        systemReserved: new Map([
          ['cpu', parseQuantity('500m')],
          ['memory', parseQuantity('1Gi')],
        ]),
        kubeReserved: new Map([
          ['cpu', parseQuantity('250m')],
          ['ephemeral-storage', parseQuantity('1Gi')],
          ['pid', parseQuantity('1000')],
        ]),
      },
    ],
    allocatable: { cpu: '3250m', memory: '7Gi', 'ephemeral-storage': '99Gi' },
  },
  'uses the number of reserved CPUs instead of CPU reservations': {
    given: [{}, { reservedCpus: 1, systemReserved: new Map([['cpu', parseQuantity('2')]]) }],
    allocatable: { cpu: '3' },
  },
  'subtracts hard thresholds, as 32-bit fractions': {
    given: [
      {},
      {
        thresholds: [
          { signal: 'memory.available', value: { quantity: parseQuantity('100Mi') }, gracePeriodMs: 0 },
          { signal: 'nodefs.available', value: { fraction: 0.1 }, gracePeriodMs: 0 },
          { signal: 'imagefs.available', value: { fraction: 0.15 }, gracePeriodMs: 0 },
        ],
      },
    ],
    allocatable: { memory: '8092Mi', 'ephemeral-storage': '96636764000' },
  },
  'subtracts no soft thresholds': {
    given: [{}, { thresholds: [{ signal: 'memory.available', value: { fraction: 0.5 }, gracePeriodMs: 60_000 }] }],
  },
  'subtracts no thresholds if configured so': {
    given: [
      {},
      {
        reservesThresholds: false,
        thresholds: [{ signal: 'memory.available', value: { fraction: 0.5 }, gracePeriodMs: 0 }],
      },
    ],
  },
  'is never negative': {
    given: [{}, { systemReserved: new Map([['memory', parseQuantity('9Gi')]]) }],
    allocatable: { memory: '0' },
  },
  'subtracts huge pages from memory': {
    given: [{ hugePages: { 'hugepages-1Gi': String(2 * GIB), 'hugepages-2Mi': String(GIB) } }],
    capacity: { 'hugepages-1Gi': '2Gi', 'hugepages-2Mi': '1Gi' },
    allocatable: { 'hugepages-1Gi': '2Gi', 'hugepages-2Mi': '1Gi', memory: '5Gi' },
  },
  'limits pods per core': { given: [{}, { podsPerCore: 10 }], capacity: { pods: '40' }, allocatable: { pods: '40' } },
  'limits pods per core up to the maximum': { given: [{}, { podsPerCore: 100 }] },
  'keeps resources of other writers': {
    given: [{}, {}, { capacity: { 'example.com/gpu': '2', cpu: '1' }, allocatable: { 'example.com/gpu': '1' } }],
    capacity: { 'example.com/gpu': '2' },
    allocatable: { 'example.com/gpu': '2' },
  },
  'removes extended resources that other writers removed': {
    given: [{}, {}, { allocatable: { 'example.com/gpu': '1' } }],
  },
};

for (const [name, { given, capacity = {}, allocatable = {} }] of Object.entries(cases)) {
  test(`nodeResources() ${name}`, () => {
    const [machine, settings, before] = given;
    assert.deepEqual(nodeResources({ ...MACHINE, ...machine }, { ...SETTINGS, ...settings }, before), {
      capacity: { ...BASE.capacity, ...capacity },
      allocatable: { ...BASE.allocatable, ...allocatable },
    });
  });
}

test('nodeResources() has the devices of plugins; those of a lost plugin are zero', () => {
  const devices = {
    capacity: new Map([['example.com/gpu', 3]]),
    allocatable: new Map([['example.com/gpu', 1]]),
    removed: new Set(['example.com/nic']),
  };
  const before = { capacity: { 'example.com/nic': '4', 'example.com/gpu': '9' }, allocatable: {} };
  const { capacity, allocatable } = nodeResources(MACHINE, SETTINGS, before, devices);
  assert.deepEqual([capacity['example.com/gpu'], allocatable['example.com/gpu']], ['3', '1']);
  assert.deepEqual([capacity['example.com/nic'], allocatable['example.com/nic']], ['0', '0']);
});

test('nodeResources() omits storage that is disabled or could not be read', () => {
  const withoutStorage = { ...MACHINE, storageBytes: undefined };
  assert.equal(nodeResources(withoutStorage, SETTINGS).capacity['ephemeral-storage'], undefined);
  const disabled = nodeResources(MACHINE, { ...SETTINGS, hasEphemeralStorage: false });
  assert.equal(disabled.capacity['ephemeral-storage'], undefined);
});

test('enforcedAmounts() does not subtract eviction thresholds', () => {
  const thresholds = [{ signal: 'memory.available', value: { fraction: 0.5 }, gracePeriodMs: 0 }] as const;
  const systemReserved = new Map([['memory', parseQuantity('1Gi')]]);
  const amounts = enforcedAmounts(MACHINE, { ...SETTINGS, thresholds, systemReserved });
  assert.equal(amounts.get('memory')?.toString(), '7Gi');
});
