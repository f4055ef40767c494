import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../../base/quantity.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { type EnforcementSettings, enforceAllocatable, podsLimits } from './enforce-allocatable.ts';

const MACHINE = { cpuCount: 4, memoryBytes: 8 * 2 ** 30, hugePages: { 'hugepages-2Mi': String(64 * 2 ** 20) } };
const SETTINGS: EnforcementSettings = {
  podsCgroup: '/kubepods',
  enforcesPods: true,
  systemReserved: new Map([
    ['memory', parseQuantity('1Gi')],
    ['pid', parseQuantity('1000')],
  ]),
  kubeReserved: new Map([['cpu', parseQuantity('500m')]]),
  reservedCpus: 0,
  thresholds: [{ signal: 'memory.available', value: { quantity: parseQuantity('1Gi') }, gracePeriodMs: 0 }],
  maxPods: 110,
  podsPerCore: 0,
  hasEphemeralStorage: true,
};
const LIFE = new AbortController().signal;

test('podsLimits() subtracts reservations, but not eviction thresholds', () => {
  assert.deepEqual(podsLimits(SETTINGS, MACHINE, 32_768), {
    memoryLimitBytes: 7 * 2 ** 30,
    cpuShares: 3584,
    pidsLimit: 31_768,
    hugePageLimits: { '2MB': 64 * 2 ** 20 },
  });
});

test('podsLimits() are the machine’s capacity without enforcement', () => {
  assert.deepEqual(podsLimits({ ...SETTINGS, enforcesPods: false }, MACHINE, undefined), {
    memoryLimitBytes: 8 * 2 ** 30,
    cpuShares: 4096,
    hugePageLimits: { '2MB': 64 * 2 ** 20 },
  });
});

test('enforceAllocatable() records the result, and retries each minute', async () => {
  const host = createMemoryHost();
  const recorded: string[] = [];
  const events = { record: (...[type, reason]: readonly string[]) => void recorded.push(`${type} ${reason}`) };
  let failures = 1;
  const cgroups = {
    create: (path: string) => host.cgroups.create(path),
    update: async (path: string, values: object) => {
      if (failures-- > 0) throw new Error('EBUSY');
      await host.cgroups.update(path, values);
    },
  };
  const done = enforceAllocatable(SETTINGS, MACHINE, { ...host, cgroups, events }, LIFE);
  await host.clock.runUntil(done);
  assert.equal(host.clock.monotonic(), 60_000);
  assert.deepEqual(recorded, ['Warning FailedNodeAllocatableEnforcement', 'Normal NodeAllocatableEnforced']);
  assert.ok(await host.cgroups.exists('/kubepods'));
});
