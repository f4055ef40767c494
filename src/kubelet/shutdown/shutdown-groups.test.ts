import assert from 'node:assert/strict';
import { test } from 'node:test';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { groupByPriority, type ShutdownSettings, shutdownPeriods, totalSeconds } from './shutdown-groups.ts';

const OFF: ShutdownSettings = { graceMs: 0, criticalMs: 0, byPriority: [], isPriorityOn: true };
const CRITICAL = 2_000_000_000;

const periods: Record<string, { settings: Partial<ShutdownSettings>; expected: readonly (readonly number[])[] }> = {
  'nothing by default': { settings: {}, expected: [] },
  'the whole period for all pods': {
    settings: { graceMs: 30_000 },
    expected: [
      [0, 30],
      [CRITICAL, 0],
    ],
  },
  'a part of the period for critical pods': {
    settings: { graceMs: 30_000, criticalMs: 10_000 },
    expected: [
      [0, 20],
      [CRITICAL, 10],
    ],
  },
  'whole seconds': {
    settings: { graceMs: 2_500, criticalMs: 1_000 },
    expected: [
      [0, 1],
      [CRITICAL, 1],
    ],
  },
  'the periods by priority, sorted': {
    settings: {
      byPriority: [
        { priority: 1000, seconds: 5 },
        { priority: 0, seconds: 7 },
      ],
    },
    expected: [
      [0, 7],
      [1000, 5],
    ],
  },
  'no periods by priority while their gate is off': {
    settings: { byPriority: [{ priority: 0, seconds: 7 }], isPriorityOn: false },
    expected: [],
  },
};

for (const [what, { settings, expected }] of Object.entries(periods)) {
  test(`shutdownPeriods() has ${what}`, () => {
    const found = shutdownPeriods({ ...OFF, ...settings });
    assert.deepEqual(
      found.map(({ priority, seconds }) => [priority, seconds]),
      expected,
    );
    assert.equal(
      totalSeconds(found),
      expected.reduce((sum, [, seconds = 0]) => sum + seconds, 0),
    );
  });
}

test('groupByPriority() puts each pod into the highest group that is not above it', () => {
  const priorities = [-5, 0, 999, 1000, 1001, 1999, 2000, 3000, undefined];
  const pods = priorities.map((priority) =>
    examplePod({ metadata: { name: String(priority) }, spec: priority === undefined ? {} : { priority } }),
  );
  const list = [
    { priority: 0, seconds: 1 },
    { priority: 1000, seconds: 2 },
    { priority: 2000, seconds: 3 },
  ];
  assert.deepEqual(
    groupByPriority(list, pods).map((group) => group.pods.map(({ metadata }) => metadata.name)),
    [
      ['-5', '0', '999', 'undefined'],
      ['1000', '1001', '1999'],
      ['2000', '3000'],
    ],
  );
});
