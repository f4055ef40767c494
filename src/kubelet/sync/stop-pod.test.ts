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

const cases: Record<string, { running: string[]; unordered?: string[]; ordered: string[][] }> = {
  'stops main containers together, then sidecars from the last to the first': {
    running: ['proxy', 'log', 'a', 'b'],
    ordered: [['a', 'b'], ['log'], ['proxy']],
  },
  'makes no container wait for an init container': {
    running: ['proxy', 'init'],
    unordered: ['init'],
    ordered: [['proxy']],
  },
  'makes no container wait for an ephemeral container': {
    running: ['debug', 'a', 'proxy'],
    unordered: ['debug'],
    ordered: [['a'], ['proxy']],
  },
  'omits containers that do not run': { running: ['log'], ordered: [['log']] },
  'makes no container wait for one that is not in the spec': {
    running: ['old', 'proxy'],
    unordered: ['old'],
    ordered: [['proxy']],
  },
  'has nothing to do for a stopped pod': { running: [], ordered: [] },
};

for (const [name, { running, unordered = [], ordered }] of Object.entries(cases)) {
  test(`stopOrder() ${name}`, () => {
    const order = stopOrder(pod, running.map(seen));
    const names = (group: readonly ObservedContainer[]): string[] => group.map((each) => each.name);
    assert.deepEqual({ unordered: names(order.unordered), ordered: order.ordered.map(names) }, { unordered, ordered });
  });
}
