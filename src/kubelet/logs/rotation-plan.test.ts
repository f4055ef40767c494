import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../base/rfc3339.ts';
import { type LogSize, nextSizeCheckMs, planRotation, type RotationPlan } from './rotation-plan.ts';

const NOW = parseTime('2026-11-15T10:00:00.7Z');
const NEXT = '0.log.20261115-100000';

const cases: Record<string, { folder: readonly string[]; maxFiles?: number; plan: Partial<RotationPlan> }> = {
  'renames the first time': { folder: ['0.log'], plan: {} },
  'compresses the previous rotated log': {
    folder: ['0.log', '0.log.20261115-090000'],
    plan: { compress: ['0.log.20261115-090000'] },
  },
  'keeps the newest, two less than the limit': {
    folder: [
      '0.log',
      '0.log.20261115-060000.gz',
      '0.log.20261115-070000.gz',
      '0.log.20261115-080000.gz',
      '0.log.20261115-090000',
    ],
    plan: { excess: ['0.log.20261115-060000.gz'], compress: ['0.log.20261115-090000'] },
  },
  'keeps only the two newest at the smallest limit': {
    folder: ['0.log', '0.log.20261115-090000'],
    maxFiles: 2,
    plan: { excess: ['0.log.20261115-090000'] },
  },
  'removes the file of an interrupted compression, and compresses again': {
    folder: ['0.log', '0.log.20261115-090000', '0.log.20261115-090000.tmp'],
    plan: { leftovers: ['0.log.20261115-090000.tmp'], compress: ['0.log.20261115-090000'] },
  },
  'removes a log whose compressed form is complete': {
    folder: ['0.log', '0.log.20261115-090000', '0.log.20261115-090000.gz'],
    plan: { leftovers: ['0.log.20261115-090000'] },
  },
  'compresses all logs that could not be compressed before': {
    folder: ['0.log', '0.log.20261115-080000', '0.log.20261115-090000'],
    plan: { compress: ['0.log.20261115-080000', '0.log.20261115-090000'] },
  },
  'makes unique names within one second': {
    folder: ['0.log', '0.log.20261115-100000'],
    plan: { compress: ['0.log.20261115-100000'], rotateTo: '0.log.20261115-100001' },
  },
  'stays in order when the clock was set back': {
    folder: ['0.log', '0.log.20270101-235959.gz'],
    plan: { rotateTo: '0.log.20270102-000000' },
  },
  'ignores other files': {
    folder: ['0.log', '1.log', '1.log.20261115-090000', '0.log.bak', '0.log.20261115', '00.log.20261115-090000', 'x'],
    plan: {},
  },
  'ignores a name with an invalid time': {
    folder: ['0.log', '0.log.99999999-999999.gz'],
    plan: {},
  },
};

for (const [name, { folder, maxFiles = 5, plan }] of Object.entries(cases)) {
  test(`planRotation() ${name}`, () => {
    const whole = { leftovers: [], rotateTo: NEXT, excess: [], compress: [], ...plan };
    assert.deepEqual(planRotation('0.log', folder, maxFiles, NOW), whole);
  });
}

const policy = { maxBytes: 10_000_000, monitorIntervalMs: 10_000 };

const sizeChecks: Record<string, { before?: LogSize; now: LogSize; ms: number }> = {
  'checks a new log again soon': { now: { atMs: 0, size: 0 }, ms: 1000 },
  'checks a log without growth after the interval': {
    before: { atMs: 0, size: 5 },
    now: { atMs: 1000, size: 5 },
    ms: 10_000,
  },
  'checks a slow log after the interval': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 10_000, size: 1000 },
    ms: 10_000,
  },
  'checks a growing log when it reaches its limit': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 1000, size: 2_000_000 },
    ms: 4000,
  },
  'checks a fast log at most once per second': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 1000, size: 9_900_000 },
    ms: 1000,
  },
  'checks a log beyond its limit, which could not be rotated, after a second': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 1000, size: 50_000_000 },
    ms: 1000,
  },
  'treats a log that shrank as one without growth': {
    before: { atMs: 0, size: 9 },
    now: { atMs: 1000, size: 1 },
    ms: 10_000,
  },
  'treats two checks at the same time as no growth': {
    before: { atMs: 0, size: 0 },
    now: { atMs: 0, size: 0 },
    ms: 10_000,
  },
};

for (const [name, { before, now, ms }] of Object.entries(sizeChecks)) {
  test(`nextSizeCheckMs() ${name}`, () => {
    assert.equal(nextSizeCheckMs(before, now, policy), ms);
  });
}

test('nextSizeCheckMs() is never longer than the interval', () => {
  assert.equal(nextSizeCheckMs(undefined, { atMs: 0, size: 0 }, { ...policy, monitorIntervalMs: 200 }), 200);
});
