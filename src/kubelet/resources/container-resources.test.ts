import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { examplePod, type PodChanges } from '../sync/config/pod.fixture.ts';
import { protoJson } from '../sync/config/proto-json.fixture.ts';
import {
  containerResources,
  overheadResources,
  type ResourceSettings,
  sandboxResources,
} from './container-resources.ts';
import { HOST_FACTS } from './host-facts.fixture.ts';
import type { HostFacts } from './host-facts.ts';

const settings: ResourceSettings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, memoryCapacityBytes: 1024 ** 3 };
const v1 = HOST_FACTS;
const v2: HostFacts = { ...HOST_FACTS, cgroupVersion: 'v2' };
const bestEffort = { cpuPeriod: '100000', cpuShares: '2', oomScoreAdj: '1000' };

function resourcesOf(pod: Pod, host: HostFacts, changed: Partial<ResourceSettings>) {
  const [container] = pod.spec.containers;
  assert.ok(container);
  return protoJson(containerResources(pod, container, { ...settings, ...changed }, host));
}

interface Case {
  readonly given: PodChanges;
  readonly host?: HostFacts;
  readonly settings?: Partial<ResourceSettings>;
  readonly expected: object;
}

const half = {
  container: { resources: { limits: { cpu: '500m', memory: '64Mi' }, requests: { cpu: '500m', memory: '64Mi' } } },
};
const guaranteed = {
  cpuPeriod: '100000',
  cpuQuota: '50000',
  cpuShares: '512',
  memoryLimitInBytes: '67108864',
  oomScoreAdj: '-997',
};

const limitedSwap = { swapBehavior: 'LimitedSwap' } as const;
const withSwap: HostFacts = { ...v2, swapControllerAvailable: true, swapBytes: 2 * 1024 ** 3 };
const thirdOfMemory = { container: { resources: { requests: { memory: String(Math.trunc(1024 ** 3 / 3)) } } } };
const burstableThird = { ...bestEffort, oomScoreAdj: '667' };

const cases: Record<string, Case> = {
  'gives a container without requests the smallest weight': { given: {}, expected: bestEffort },
  'limits a container': { given: half, expected: guaranteed },
  'weighs by the limit if there is no request': {
    given: { container: { resources: { limits: { cpu: 2 } } } },
    expected: { cpuPeriod: '100000', cpuQuota: '200000', cpuShares: '2048', oomScoreAdj: '999' },
  },
  'never sets less than a millisecond': {
    given: { container: { resources: { limits: { cpu: '1m' }, requests: { cpu: '1m' } } } },
    expected: { cpuPeriod: '100000', cpuQuota: '1000', cpuShares: '2', oomScoreAdj: '999' },
  },
  'sets no CPU quota if the node does not enforce it': {
    given: half,
    settings: { cpuCfsQuota: false },
    expected: { ...guaranteed, cpuPeriod: undefined, cpuQuota: undefined },
  },
  'keeps a container out of swap on v1': {
    given: half,
    host: { ...v1, swapControllerAvailable: true },
    expected: { ...guaranteed, memorySwapLimitInBytes: '67108864' },
  },
  'keeps a container out of swap on v2, and kills it as a whole': {
    given: half,
    host: { ...v2, swapControllerAvailable: true },
    expected: { ...guaranteed, unified: { 'memory.oom.group': '1', 'memory.swap.max': '0' } },
  },
  'lets a Burstable container swap in proportion to its request, if the node allows it': {
    given: thirdOfMemory,
    host: withSwap,
    settings: limitedSwap,
    expected: { ...burstableThird, unified: { 'memory.oom.group': '1', 'memory.swap.max': '715827882' } },
  },
  'keeps a container out of swap whose request equals its limit': {
    given: half,
    host: withSwap,
    settings: limitedSwap,
    expected: { ...guaranteed, unified: { 'memory.oom.group': '1', 'memory.swap.max': '0' } },
  },
  'keeps a container out of swap without a request': {
    given: {},
    host: withSwap,
    settings: limitedSwap,
    expected: { ...bestEffort, unified: { 'memory.oom.group': '1', 'memory.swap.max': '0' } },
  },
  'keeps a critical pod out of swap': {
    given: { ...thirdOfMemory, spec: { priority: 2_000_000_000 } },
    host: withSwap,
    settings: limitedSwap,
    expected: { ...burstableThird, unified: { 'memory.oom.group': '1', 'memory.swap.max': '0' } },
  },
  'keeps a container out of swap that requests more than the capacity': {
    given: { container: { resources: { requests: { memory: '2Gi' } } } },
    host: withSwap,
    settings: limitedSwap,
    expected: { ...bestEffort, oomScoreAdj: '3', unified: { 'memory.oom.group': '1', 'memory.swap.max': '0' } },
  },
  'sets no swap limit on v1, whatever the node allows': {
    given: half,
    host: { ...withSwap, cgroupVersion: 'v1' },
    settings: limitedSwap,
    expected: { ...guaranteed, memorySwapLimitInBytes: '67108864' },
  },
  'kills single processes if the node is configured so': {
    given: {},
    host: v2,
    settings: { singleProcessOOMKill: true },
    expected: bestEffort,
  },
  'throttles a container before its limit with MemoryQoS': {
    given: { container: { resources: { requests: { memory: '32Mi' }, limits: { memory: '64Mi' } } } },
    host: withSwap,
    settings: {
      memoryQos: { throttlingFactor: 0.5, reservationPolicy: 'TieredReservation', allocatableBytes: 2 ** 30 },
    },
    expected: {
      ...bestEffort,
      memoryLimitInBytes: '67108864',
      oomScoreAdj: '969',
      unified: {
        'memory.oom.group': '1',
        'memory.swap.max': '0',
        'memory.low': '33554432',
        'memory.high': '50331648',
      },
    },
  },
  'allows only requested huge pages': {
    given: { container: { resources: { limits: { 'hugepages-2Mi': '4Mi' } } } },
    host: { ...v1, hugePageSizes: ['1GB', '2MB'] },
    expected: { ...bestEffort, hugepageLimits: [{ pageSize: '1GB' }, { pageSize: '2MB', limit: '4194304' }] },
  },
  'gives the pod-level huge pages to a container that requests none': {
    given: { spec: { resources: { limits: { 'hugepages-2Mi': '8Mi' } } } },
    host: { ...v1, hugePageSizes: ['2MB'] },
    expected: { ...bestEffort, hugepageLimits: [{ pageSize: '2MB', limit: '8388608' }] },
  },
  'prefers the container’s own huge pages to the pod’s': {
    given: {
      spec: { resources: { limits: { 'hugepages-2Mi': '8Mi' } } },
      container: { resources: { limits: { 'hugepages-2Mi': '4Mi' } } },
    },
    host: { ...v1, hugePageSizes: ['2MB'] },
    expected: { ...bestEffort, hugepageLimits: [{ pageSize: '2MB', limit: '4194304' }] },
  },
  'weighs by a request of zero': {
    given: { container: { resources: { requests: { cpu: 0 }, limits: { cpu: 2 } } } },
    expected: { cpuPeriod: '100000', cpuQuota: '200000', cpuShares: '2', oomScoreAdj: '999' },
  },
  'uses the node’s CPU period': {
    given: half,
    settings: { cpuCfsQuotaPeriodMs: 20 },
    expected: { ...guaranteed, cpuPeriod: '20000', cpuQuota: '10000' },
  },
  'uses the pod-level limits if the container has none': {
    given: { spec: { resources: { limits: { cpu: 1, memory: '1Mi' } } } },
    expected: {
      cpuPeriod: '100000',
      cpuQuota: '100000',
      cpuShares: '1024',
      memoryLimitInBytes: '1048576',
      oomScoreAdj: '999',
    },
  },
};

for (const [name, { given, host = v1, settings: changed = {}, expected }] of Object.entries(cases)) {
  test(`containerResources() ${name}`, () => {
    const defined = Object.entries(expected).filter(([, value]) => value !== undefined);
    assert.deepEqual(resourcesOf(examplePod(given), host, changed), Object.fromEntries(defined));
  });
}

const overhead = { cpu: '250m', memory: '1Mi' };

test('sandboxResources() is the sum of the containers, without the overhead', () => {
  const pod = examplePod({ ...half, spec: { overhead } });
  const two = { ...pod, spec: { ...pod.spec, containers: [...pod.spec.containers, ...pod.spec.containers] } };
  assert.deepEqual(protoJson(sandboxResources(two, settings, v1)), {
    cpuPeriod: '100000',
    cpuQuota: '100000',
    cpuShares: '1024',
    memoryLimitInBytes: '134217728',
  });
});

test('overheadResources() counts the overhead as request and limit', () => {
  assert.deepEqual(protoJson(overheadResources(examplePod({ spec: { overhead } }), settings, v1)), {
    cpuPeriod: '100000',
    cpuQuota: '25000',
    cpuShares: '256',
    memoryLimitInBytes: '1048576',
  });
  assert.deepEqual(protoJson(overheadResources(examplePod(), settings, v1)), {});
});
