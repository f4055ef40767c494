import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { stopOrder } from './stop-pod.ts';

const container = (name: string) => ({ name, image: 'busybox' });
const sidecar = (name: string) => ({ ...container(name), restartPolicy: 'Always' });
const seen = (name: string) => ({ name, id: `id-${name}` }) as ObservedContainer; // the order looks at names alone

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: {
    initContainers: [container('init'), sidecar('proxy'), sidecar('log')],
    containers: [container('a'), container('b')],
    ephemeralContainers: [container('debug')],
  },
};

const cases: Record<string, { running: string[]; free?: string[]; inTurn: string[][] }> = {
  'stops main containers together, then sidecars from the last to the first': {
    running: ['proxy', 'log', 'a', 'b'],
    inTurn: [['a', 'b'], ['log'], ['proxy']],
  },
  'makes no container wait for an init container': { running: ['proxy', 'init'], free: ['init'], inTurn: [['proxy']] },
  'makes no container wait for an ephemeral container': {
    running: ['debug', 'a', 'proxy'],
    free: ['debug'],
    inTurn: [['a'], ['proxy']],
  },
  'omits containers that do not run': { running: ['log'], inTurn: [['log']] },
  'makes no container wait for one that is not in the spec': {
    running: ['old', 'proxy'],
    free: ['old'],
    inTurn: [['proxy']],
  },
  'has nothing to do for a stopped pod': { running: [], inTurn: [] },
};

for (const [name, { running, free = [], inTurn }] of Object.entries(cases)) {
  test(`stopOrder() ${name}`, () => {
    const order = stopOrder(pod, running.map(seen));
    const names = (group: readonly ObservedContainer[]): string[] => group.map((each) => each.name);
    assert.deepEqual({ free: names(order.unordered), inTurn: order.ordered.map(names) }, { free, inTurn });
  });
}
