import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeCondition } from '../../../api/generated/core-v1.ts';
import { parseTime } from '../../../base/rfc3339.ts';
import { type ConditionInputs, nodeConditions } from './node-conditions.ts';

const [OLD, NOW] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'];
const VIEW: ConditionInputs = { pressure: new Set(), notReadyReasons: [], nowMs: parseTime(NOW) };
const FOREIGN: NodeCondition = {
  type: 'NetworkUnavailable',
  status: 'False',
  reason: 'RouteCreated',
  lastHeartbeatTime: OLD,
};

const { conditions: FIRST, events: FIRST_NEWS } = nodeConditions([], { ...VIEW, nowMs: parseTime(OLD) });

function changed(type: string, change: Partial<NodeCondition>): readonly NodeCondition[] {
  return FIRST.map((each) => ({ ...each, lastHeartbeatTime: NOW, ...(each.type === type && change) }));
}

test('nodeConditions() of a new node has Ready last, and events for the others', () => {
  assert.deepEqual(
    FIRST.map(({ type, status, reason, lastTransitionTime }) => [type, status, reason, lastTransitionTime]),
    [
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', OLD],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', OLD],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', OLD],
      ['Ready', 'True', 'KubeletReady', OLD],
    ],
  );
  assert.deepEqual(FIRST_NEWS, ['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID']);
});

const cases: Record<
  string,
  { view?: Partial<ConditionInputs>; conditions: readonly NodeCondition[]; events?: readonly string[] }
> = {
  'only updates the heartbeat of unchanged conditions': { conditions: changed('', {}) },
  'is under pressure': {
    view: { pressure: new Set(['DiskPressure']) },
    conditions: changed('DiskPressure', {
      status: 'True',
      reason: 'KubeletHasDiskPressure',
      message: 'kubelet has disk pressure',
      lastTransitionTime: NOW,
    }),
    events: ['NodeHasDiskPressure'],
  },
  'is not ready for one reason': {
    view: { notReadyReasons: ['container runtime is down'] },
    conditions: changed('Ready', {
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'container runtime is down',
      lastTransitionTime: NOW,
    }),
    events: ['NodeNotReady'],
  },
  'is not ready for several reasons': {
    view: { notReadyReasons: ['container runtime is down', 'network state unknown'] },
    conditions: changed('Ready', {
      status: 'False',
      reason: 'KubeletNotReady',
      message: '[container runtime is down, network state unknown]',
      lastTransitionTime: NOW,
    }),
    events: ['NodeNotReady'],
  },
};

for (const [name, { view, conditions, events = [] }] of Object.entries(cases)) {
  test(`nodeConditions() ${name}`, () => {
    assert.deepEqual(nodeConditions(FIRST, { ...VIEW, ...view }), { conditions, events });
  });
}

test('nodeConditions() keeps the value and position of other writers’ conditions', () => {
  const { conditions } = nodeConditions([FOREIGN, ...FIRST.slice(2)], VIEW);
  assert.deepEqual(conditions[0], FOREIGN);
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ['NetworkUnavailable', 'PIDPressure', 'Ready', 'MemoryPressure', 'DiskPressure'],
  );
});

test('nodeConditions() changes a message of the same status without a transition', () => {
  const down = nodeConditions(FIRST, { ...VIEW, notReadyReasons: ['a'] }).conditions;
  const later = nodeConditions(down, { ...VIEW, nowMs: VIEW.nowMs + 60_000, notReadyReasons: ['b'] });
  const ready = later.conditions.at(-1);
  assert.deepEqual([ready?.message, ready?.lastTransitionTime, later.events], ['b', NOW, []]);
});
