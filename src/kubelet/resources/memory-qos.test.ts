import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CgroupValues } from '../../host/cgroups.ts';
import { MemoryCgroups } from '../../host/fake/memory-cgroups.ts';
import type { Processes } from '../../host/processes.ts';
import { examplePod, type PodChanges } from '../sync/config/pod.fixture.ts';
import {
  containerMemoryQos,
  type MemoryQos,
  type MemoryQosHost,
  podMemoryQos,
  qosMemoryQos,
  resizedMemoryQos,
} from './memory-qos.ts';
import { PodCgroups } from './pod-cgroups.ts';

const MiB = 2 ** 20;
const none: MemoryQos = { throttlingFactor: 0.9, reservationPolicy: 'None', allocatableBytes: 1024 * MiB };
const tiered: MemoryQos = { ...none, reservationPolicy: 'TieredReservation' };
const v2 = { cgroupVersion: 'v2', pageSize: 4096 } as const;
const v1 = { ...v2, cgroupVersion: 'v1' } as const;

/** A pod whose container has these amounts of memory. */
function withMemory(request?: string, limit?: string): PodChanges {
  return {
    container: {
      resources: { requests: request ? { memory: request } : {}, limits: limit ? { memory: limit } : {} },
    },
  };
}

const both = { cpu: '1', memory: '100Mi' };
const guaranteed: PodChanges = { container: { resources: { requests: both, limits: both } } };
const unprotected = { 'memory.min': '0', 'memory.low': '0' };

interface ContainerCase {
  readonly given: PodChanges;
  readonly memoryQos?: MemoryQos | undefined;
  readonly host?: MemoryQosHost;
  readonly files: Readonly<Record<string, string>>;
}

const containers: Readonly<Record<string, ContainerCase>> = {
  'sets nothing while the feature gate is off': {
    given: withMemory('100Mi', '200Mi'),
    memoryQos: undefined,
    files: {},
  },
  'sets nothing with cgroup v1': { given: withMemory('100Mi', '200Mi'), memoryQos: tiered, host: v1, files: {} },
  'throttles at nine tenths of the way from request to limit': {
    given: withMemory('100Mi', '200Mi'),
    files: { ...unprotected, 'memory.high': String(190 * MiB) },
  },
  'throttles at a share of the limit without a request': {
    given: withMemory(undefined, '200Mi'),
    files: { ...unprotected, 'memory.high': String(180 * MiB) },
  },
  'throttles at a share of the allocatable memory without a limit': {
    given: withMemory('24Mi'),
    files: { ...unprotected, 'memory.high': String(924 * MiB) },
  },
  'throttles a container without request and limit not at all': { given: {}, files: unprotected },
  'rounds down to whole pages': {
    given: withMemory('1000', '20000'),
    files: { ...unprotected, 'memory.high': '16384' },
  },
  'rounds down to the pages of the machine': {
    given: withMemory('1000', '200000'),
    host: { ...v2, pageSize: 65_536 },
    files: { ...unprotected, 'memory.high': '131072' },
  },
  'has no memory.high that is not above the request': {
    given: withMemory('10000', '10100'),
    files: unprotected,
  },
  'has no memory.high if the request is above the allocatable memory': {
    given: withMemory('2Gi'),
    files: unprotected,
  },
  'follows memoryThrottlingFactor': {
    given: withMemory('100Mi', '200Mi'),
    memoryQos: { ...none, throttlingFactor: 0.5 },
    files: { ...unprotected, 'memory.high': String(150 * MiB) },
  },
  'does not throttle if request and limit are equal': { given: guaranteed, files: unprotected },
  'protects a Guaranteed pod from any reclaim': {
    given: guaranteed,
    memoryQos: tiered,
    files: { 'memory.min': String(100 * MiB) },
  },
  'protects a Burstable pod from reclaim as long as others have memory': {
    given: withMemory('100Mi', '200Mi'),
    memoryQos: tiered,
    files: { 'memory.low': String(100 * MiB), 'memory.high': String(190 * MiB) },
  },
  'protects a Burstable pod whose request and limit are equal, and does not throttle it': {
    given: withMemory('100Mi', '100Mi'),
    memoryQos: tiered,
    files: { 'memory.low': String(100 * MiB) },
  },
  'protects nothing without a request': {
    given: withMemory(undefined, '200Mi'),
    memoryQos: tiered,
    files: { ...unprotected, 'memory.high': String(180 * MiB) },
  },
};

for (const [name, { given, host = v2, files, ...rest }] of Object.entries(containers)) {
  test(`containerMemoryQos() ${name}`, () => {
    const pod = examplePod(given);
    const [container] = pod.spec.containers;
    assert.ok(container);
    const memoryQos = 'memoryQos' in rest ? rest.memoryQos : none;
    assert.deepEqual(containerMemoryQos(pod, container, { memoryQos }, host), files);
  });
}

test('resizedMemoryQos() ends the throttling of a container that is no longer throttled', () => {
  const other = { 'memory.oom.group': '1' };
  assert.deepEqual(resizedMemoryQos(other), other);
  assert.deepEqual(resizedMemoryQos(unprotected), { ...unprotected, 'memory.high': 'max' });
  assert.deepEqual(resizedMemoryQos({ ...unprotected, 'memory.high': '8192' }), {
    ...unprotected,
    'memory.high': '8192',
  });
});

const overhead = { spec: { overhead: { memory: '1Mi' } } };
const pods: Readonly<Record<string, { given: PodChanges; memoryQos?: MemoryQos; values: CgroupValues }>> = {
  'protects nothing while the feature gate is off': { given: guaranteed, values: {} },
  'protects nothing with the policy None': {
    given: guaranteed,
    memoryQos: none,
    values: { memoryMinBytes: 0, memoryLowBytes: 0 },
  },
  'protects a Guaranteed pod, with its overhead': {
    given: { ...guaranteed, ...overhead },
    memoryQos: tiered,
    values: { memoryMinBytes: 101 * MiB },
  },
  'protects a Burstable pod while others have memory': {
    given: { ...withMemory('100Mi'), ...overhead },
    memoryQos: tiered,
    values: { memoryLowBytes: 101 * MiB },
  },
  'protects no BestEffort pod': { given: {}, memoryQos: tiered, values: { memoryMinBytes: 0, memoryLowBytes: 0 } },
};

for (const [name, { given, memoryQos, values }] of Object.entries(pods)) {
  test(`podMemoryQos() ${name}`, () => {
    assert.deepEqual(podMemoryQos(examplePod(given), { memoryQos }, v2), values);
    assert.deepEqual(podMemoryQos(examplePod(given), { memoryQos }, v1), {});
  });
}

test('qosMemoryQos() covers the requests of the pods below', () => {
  const requests = { guaranteed: 10n, burstable: 5n };
  const of = (memoryQos: MemoryQos | undefined) =>
    (['Guaranteed', 'Burstable', 'BestEffort'] as const).map((qos) => qosMemoryQos(qos, requests, { memoryQos }, v2));
  assert.deepEqual(of(undefined), [{}, {}, {}]);
  assert.deepEqual(of(none), [{ memoryMinBytes: 0 }, { memoryLowBytes: 0 }, {}]);
  assert.deepEqual(of(tiered), [{ memoryMinBytes: 15 }, { memoryLowBytes: 5 }, {}]);
  assert.deepEqual(qosMemoryQos('Guaranteed', requests, { memoryQos: tiered }, v1), {});
});

test('PodCgroups protects memory as long as its pods exist', async () => {
  const cgroups = new MemoryCgroups();
  const settings = {
    cgroupRoot: '/',
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodMs: 100,
    podPidsLimit: -1,
    memoryQos: tiered,
  };
  const hostFacts = { hugePageSizes: [], cgroupVersion: 'v2' } as const;
  const steps = new PodCgroups({ cgroups, processes: {} as Processes, settings, hostFacts }); // no process is killed
  const { signal } = new AbortController();
  const memoryOf = (path: string) => {
    const { memoryMinBytes, memoryLowBytes } = cgroups.valuesOf(path) ?? {};
    return [memoryMinBytes, memoryLowBytes];
  };
  const one = examplePod({ ...guaranteed, metadata: { uid: 'one' } });
  const two = examplePod({ ...withMemory('50Mi'), metadata: { uid: 'two' } });

  await steps.prepare(one, signal);
  await steps.prepare(two, signal);
  assert.deepEqual(memoryOf('/kubepods'), [150 * MiB, undefined]);
  assert.deepEqual(memoryOf('/kubepods/burstable'), [undefined, 50 * MiB]);
  assert.deepEqual(memoryOf('/kubepods/podone'), [100 * MiB, undefined]);
  assert.deepEqual(memoryOf('/kubepods/burstable/podtwo'), [undefined, 50 * MiB]);

  const resized = examplePod({ ...withMemory('80Mi'), metadata: { uid: 'two' } });
  await steps.prepare(resized, signal);
  assert.deepEqual(memoryOf('/kubepods'), [180 * MiB, undefined]);
  assert.deepEqual(memoryOf('/kubepods/burstable'), [undefined, 80 * MiB]);
  assert.deepEqual(memoryOf('/kubepods/burstable/podtwo'), [undefined, 80 * MiB]);

  await steps.release(one, signal);
  assert.deepEqual(memoryOf('/kubepods'), [80 * MiB, undefined]);
  await steps.release(resized, signal);
  assert.deepEqual(memoryOf('/kubepods'), [0, undefined]);
  assert.deepEqual(memoryOf('/kubepods/burstable'), [undefined, 0]);
});
