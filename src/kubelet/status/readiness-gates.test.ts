import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCondition } from '../../api/generated/core-v1.ts';
import { haveGatesChanged } from './readiness-gates.ts';

function gated(...conditions: readonly PodCondition[]): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { containers: [], readinessGates: [{ conditionType: 'lb' }] },
    status: { conditions: [...conditions] },
  };
}

const of = (type: string, status: string): PodCondition => ({ type, status });

const moves: Record<string, readonly [before: Pod, now: Pod, hasMoved: boolean]> = {
  'a gate opened': [gated(), gated(of('lb', 'True')), true],
  'a gate closed': [gated(of('lb', 'True')), gated(of('lb', 'False')), true],
  'a closed gate whose reason to be closed is another': [gated(), gated(of('lb', 'Unknown')), true],
  'a condition that is no gate': [gated(), gated(of('Ready', 'True')), false],
  'a pod without gates': [
    { ...gated(), spec: { containers: [] } },
    { ...gated(of('lb', 'True')), spec: { containers: [] } },
    false,
  ],
};

for (const [what, [before, now, hasMoved]] of Object.entries(moves)) {
  test(`haveGatesMoved(): ${hasMoved ? 'yes' : 'no'} for ${what}`, () => {
    assert.equal(haveGatesChanged(before, now), hasMoved);
  });
}
