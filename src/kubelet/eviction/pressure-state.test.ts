import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../base/quantity.ts';
import type { PressureSignal, PressureThreshold, SignalReadings } from '../node/signals/pressure-signal.ts';
import { NO_PRESSURE, nextPressure, type PressureState } from './pressure-state.ts';

const TRANSITION_MS = 300_000;
const hard = (signal: PressureSignal, amount = '10'): PressureThreshold => ({
  signal,
  value: { quantity: parseQuantity(amount) },
  gracePeriodMs: 0,
});

/** Applies readings at the given seconds, each with this much available of 100. */
function after(
  thresholds: readonly PressureThreshold[],
  ...looks: readonly (readonly [second: number, left: number])[]
): readonly string[] {
  const state = looks.reduce<PressureState>((before, [second, left]) => {
    const figures = { available: BigInt(left), capacity: 100n };
    const readings: SignalReadings = new Map(thresholds.map(({ signal }) => [signal, figures]));
    return nextPressure(before, readings, { thresholds, transitionMs: TRANSITION_MS, nowMs: second * 1000 });
  }, NO_PRESSURE);
  return [...state.conditions];
}

const memory = hard('memory.available');
const soft: PressureThreshold = { ...memory, gracePeriodMs: 90_000 };
const reclaiming: PressureThreshold = { ...memory, minimumReclaim: { quantity: parseQuantity('20') } };

const cases: Record<string, { now: readonly string[]; wanted: readonly string[] }> = {
  'is unset while enough is available': { now: after([memory], [0, 10]), wanted: [] },
  'is set once less is available': { now: after([memory], [0, 9]), wanted: ['MemoryPressure'] },
  'is DiskPressure for each disk signal, once': {
    now: after([hard('nodefs.available'), hard('imagefs.inodesFree')], [0, 9]),
    wanted: ['DiskPressure'],
  },
  'is PIDPressure for process ids': { now: after([hard('pid.available')], [0, 9]), wanted: ['PIDPressure'] },
  'supports fractions of the capacity': {
    now: after([{ ...memory, value: { fraction: 0.5 } }], [0, 49]),
    wanted: ['MemoryPressure'],
  },
  'is set at once for a soft threshold too': { now: after([soft], [0, 9]), wanted: ['MemoryPressure'] },
  'stays through the transition period': { now: after([memory], [0, 9], [299, 50]), wanted: ['MemoryPressure'] },
  'ends after the transition period': { now: after([memory], [0, 9], [300, 50]), wanted: [] },
  'restarts the period each time a threshold is met': {
    now: after([memory], [0, 9], [200, 9], [499, 50]),
    wanted: ['MemoryPressure'],
  },
  'stays until the minimum reclaim is available': {
    now: after([reclaiming], [0, 9], [200, 29], [499, 30]),
    wanted: ['MemoryPressure'],
  },
  'ignores the minimum reclaim before an eviction was due': {
    now: after([{ ...reclaiming, gracePeriodMs: 60_000 }], [0, 9], [30, 15], [330, 15]),
    wanted: [],
  },
};

for (const [name, { now, wanted }] of Object.entries(cases)) {
  test(`pressure ${name}`, () => assert.deepEqual(now, wanted));
}

test('a signal that could not be read causes no pressure', () => {
  const policy = { thresholds: [memory], transitionMs: TRANSITION_MS, nowMs: 0 };
  assert.deepEqual([...nextPressure(NO_PRESSURE, new Map(), policy).conditions], []);
});
