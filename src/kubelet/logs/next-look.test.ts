import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogSize, nextSizeCheckMs } from './next-look.ts';

const policy = { maxBytes: 10_000_000, monitorIntervalMs: 10_000 };

const cases: Record<string, { before?: LogSize; now: LogSize; ms: number }> = {
  'a new log is looked at again soon': { now: { atMs: 0, size: 0 }, ms: 1000 },
  'a silent one after the interval': { before: { atMs: 0, size: 5 }, now: { atMs: 1000, size: 5 }, ms: 10_000 },
  'a slow one too': { before: { atMs: 0, size: 0 }, now: { atMs: 10_000, size: 1000 }, ms: 10_000 },
  'a growing one when it reaches its limit': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 1000, size: 2_000_000 },
    ms: 4000,
  },
  'a fast one not more often than each second': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 1000, size: 9_900_000 },
    ms: 1000,
  },
  'one beyond its limit, that could not be rotated, in a second': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 1000, size: 50_000_000 },
    ms: 1000,
  },
  'one that shrank as a silent one': { before: { atMs: 0, size: 9 }, now: { atMs: 1000, size: 1 }, ms: 10_000 },
  'one looked at twice at the same moment as a silent one': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 0, size: 0 },
    ms: 10_000,
  },
};

for (const [name, { before, now, ms }] of Object.entries(cases)) {
  test(`nextLookMs() ${name}`, () => {
    assert.equal(nextSizeCheckMs(before, now, policy), ms);
  });
}

test('nextLookMs() is never longer than the interval', () => {
  assert.equal(nextSizeCheckMs(undefined, { atMs: 0, size: 0 }, { ...policy, monitorIntervalMs: 200 }), 200);
});
