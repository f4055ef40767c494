import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { PodCgroups } from './pod-cgroups.ts';
import { qosMemoryLimits } from './qos-reserved.ts';

const GIB = 2 ** 30;
const never = new AbortController().signal;

test('lower QoS classes cannot use the reserved share of what higher ones request', () => {
  const requests = { guaranteed: BigInt(2 * GIB), burstable: BigInt(GIB) };
  const limits = (memoryPercent: number, allocatableBytes = 8 * GIB) =>
    Object.fromEntries(qosMemoryLimits(requests, { memoryPercent, allocatableBytes }));
  assert.deepEqual(limits(100), { Burstable: 6 * GIB, BestEffort: 5 * GIB });
  assert.deepEqual(limits(50), { Burstable: 7 * GIB, BestEffort: 6.5 * GIB });
  assert.deepEqual(limits(0), { Burstable: 8 * GIB, BestEffort: 8 * GIB });
  assert.deepEqual(limits(100, 3 * GIB), { Burstable: GIB });
  assert.deepEqual(limits(100, 0), {});
});

function world() {
  const { cgroups, processes, cgroupStats } = createMemoryHost();
  const settings = {
    cgroupRoot: '/',
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodMs: 100,
    podPidsLimit: -1,
    qosReserved: { memoryPercent: 100, allocatableBytes: 8 * GIB },
  };
  const hostFacts = { hugePageSizes: [], cgroupVersion: 'v2' } as const;
  return { cgroups, cgroupStats, steps: new PodCgroups({ cgroups, processes, cgroupStats, settings, hostFacts }) };
}

const amounts = { cpu: '1', memory: '2Gi' };
const guaranteed = examplePod({
  metadata: { uid: 'g' },
  container: { resources: { requests: amounts, limits: amounts } },
});

test('the limits follow the pods that start and end', async () => {
  const { cgroups, steps } = world();
  await steps.prepare(examplePod({ metadata: { uid: 'b' } }), never);
  const limit = (): number | undefined => cgroups.valuesOf('/kubepods/besteffort')?.memoryLimitBytes;
  assert.equal(limit(), 8 * GIB);
  await steps.prepare(guaranteed, never);
  assert.equal(limit(), 6 * GIB);
  await steps.release(guaranteed, never);
  assert.equal(limit(), 8 * GIB);
});

test('a class that uses more already is limited to what it uses, and its pods start', async () => {
  const { cgroups, cgroupStats, steps } = world();
  await steps.prepare(examplePod({ metadata: { uid: 'b' } }), never);
  const memory = { usageBytes: 7 * GIB, workingSetBytes: 0, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 }; // words: quoted
  cgroupStats.set('/kubepods/besteffort', { memory });
  cgroups.errors.failNext('update', 'EBUSY', '/kubepods/besteffort');
  await steps.prepare(guaranteed, never);
  assert.equal(cgroups.valuesOf('/kubepods/besteffort')?.memoryLimitBytes, 7 * GIB);
});
