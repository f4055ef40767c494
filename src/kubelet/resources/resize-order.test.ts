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
  'a decrease': { first: { pod: podWith('50m'), allocated, since: undefined }, second: more },
  'a decrease, even if the other has a higher priority': {
    first: { pod: podWith('50m'), allocated, since: SINCE },
    second: { ...more, pod: podWith('200m', { priority: 1000 }) },
  },
  'the higher priority': { first: { ...more, pod: podWith('200m', { priority: 10 }), since: undefined }, second: more },
  'the Guaranteed pod': { first: { ...more, pod: guaranteed, since: undefined }, second: more },
  'the longer wait': { first: more, second: { ...more, since: '2026-11-15T09:00:01Z' } },
  'the resize that was tried already': { first: more, second: { ...more, since: undefined } },
};

for (const [who, { first, second }] of Object.entries(cases)) {
  test(`byResizePriority() sorts first ${who}`, () => {
    assert.deepEqual([second, first].sort(byResizePriority), [first, second]);
    assert.deepEqual([first, second].sort(byResizePriority), [first, second]);
  });
}
