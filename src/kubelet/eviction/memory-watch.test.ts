import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { MemoryPressureEvents } from '../../host/fake/memory-pressure-events.ts';
import type { PressureThreshold, SignalReadings } from '../node/signals/pressure-signal.ts';
import { checkPeriodMs } from './check-period.ts';
import { MemoryWatch } from './memory-watch.ts';

const MIB = 2 ** 20;
const FOREVER = new AbortController().signal;
const threshold = (signal: PressureThreshold['signal']): PressureThreshold => ({
  signal,
  value: { quantity: parseQuantity('100Mi') },
  gracePeriodMs: 0,
});
const THRESHOLDS = [threshold('memory.available'), threshold('allocatableMemory.available')];
const readings = (availableMib: number, cacheMib: number): SignalReadings => {
  const figures = { available: BigInt(availableMib * MIB), capacity: BigInt(10_000 * MIB) };
  return new Map(THRESHOLDS.map(({ signal }) => [signal, { ...figures, reclaimableBytes: cacheMib * MIB }]));
};

function watch(version: 'v1' | 'v2') {
  const events = new MemoryPressureEvents(version);
  let reports = 0;
  const watching = new MemoryWatch({ events, podsCgroup: '/kubepods', log: silentLog, onPressure: () => reports++ });
  return { events, watching, reports: () => reports };
}

test('MemoryWatch is notified when the usage with the page cache reaches the threshold', async () => {
  const { events, watching, reports } = watch('v1');
  events.setUsage('/kubepods', 0);
  await watching.update(THRESHOLDS, readings(5000, 300), FOREVER);
  assert.deepEqual(events.watched('/'), [10_200 * MIB]);
  assert.deepEqual(events.watched('/kubepods'), [10_200 * MIB]);
  events.setUsage('/', 10_201 * MIB);
  assert.equal(reports(), 1);
});

test('MemoryWatch follows the page cache, and ignores small changes', async () => {
  const { events, watching } = watch('v1');
  await watching.update(THRESHOLDS, readings(5000, 300), FOREVER);
  await watching.update(THRESHOLDS, readings(5000, 303), FOREVER);
  assert.deepEqual(events.watched('/'), [10_200 * MIB]);
  await watching.update(THRESHOLDS, readings(5000, 400), FOREVER);
  assert.deepEqual(events.watched('/'), [10_300 * MIB]);
});

test('MemoryWatch watches a cgroup that appears later', async () => {
  const { events, watching } = watch('v1');
  await watching.update(THRESHOLDS, readings(5000, 0), FOREVER);
  events.setUsage('/kubepods', 1);
  await watching.update(THRESHOLDS, readings(5000, 0), FOREVER);
  assert.equal(events.watched('/kubepods').length, 1);
});

test('MemoryWatch is notified of stalls, and watches nothing without a memory threshold', async () => {
  const { events, watching, reports } = watch('v1');
  await watching.update([threshold('pid.available')], readings(5000, 0), FOREVER);
  events.stall();
  assert.deepEqual([events.watched('/'), reports()], [[], 0]);
  await watching.update(THRESHOLDS, readings(5000, 0), FOREVER);
  events.stall();
  assert.equal(reports(), 1);
});

test('where the kernel does not report usage, memory is read more often the less is left', async () => {
  const { watching } = watch('v2');
  await watching.update(THRESHOLDS, readings(5000, 0), FOREVER);
  assert.equal(watching.isReported, false);
  const period = (availableMib: number, isReported: boolean): number =>
    checkPeriodMs(THRESHOLDS, readings(availableMib, 0), isReported);
  assert.deepEqual(
    [
      period(30_100, false),
      period(4100, false),
      period(110, false),
      period(50, false),
      period(110, true),
      period(300, true),
    ],
    [10_000, 2000, 250, 10_000, 250, 10_000],
  );
});
