import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { byResizePriority, type PendingResize } from './resize-order.ts';

const SINCE = '2026-11-15T09:00:00Z';

function podWith(cpu: string, spec: Partial<Pod['spec']> = {}): Pod {
  const [container] = examplePod({ container: { resources: { requests: { cpu } } } }).spec.containers;
  return examplePod({ spec: { ...(container && { containers: [container] }), ...spec } });
}

const allocated = podWith('100m');
const both = { cpu: '1', memory: '1Gi' };
const guaranteed = examplePod({ container: { resources: { requests: both, limits: both } } });
const more: PendingResize = { pod: podWith('200m'), allocated, since: SINCE };

const cases: Record<string, { first: PendingResize; second: PendingResize }> = {
  'who asks for less': { first: { pod: podWith('50m'), allocated, since: undefined }, second: more },
  'who asks for less, though the other matters more': {
    first: { pod: podWith('50m'), allocated, since: SINCE },
    second: { ...more, pod: podWith('200m', { priority: 1000 }) },
  },
  'who matters more': { first: { ...more, pod: podWith('200m', { priority: 10 }), since: undefined }, second: more },
  'who is guaranteed all': { first: { ...more, pod: guaranteed, since: undefined }, second: more },
  'who has waited longer': { first: more, second: { ...more, since: '2026-11-15T09:00:01Z' } },
  'who was tried already': { first: more, second: { ...more, since: undefined } },
};

for (const [who, { first, second }] of Object.entries(cases)) {
  test(`byUrgency() has first ${who}`, () => {
    assert.deepEqual([second, first].sort(byResizePriority), [first, second]);
    assert.deepEqual([first, second].sort(byResizePriority), [first, second]);
  });
}
