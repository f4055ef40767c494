import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { type ChosenContainer, chooseContainer } from './choose-container.ts';

function podWith(containers: readonly string[], init: readonly string[] = [], annotated?: string): Pod {
  const annotations = annotated === undefined ? {} : { 'kubectl.kubernetes.io/default-container': annotated };
  return {
    metadata: { name: 'hello', namespace: 'default', uid: 'u', annotations },
    spec: { containers: containers.map((name) => ({ name })), initContainers: init.map((name) => ({ name })) },
  };
}

const cases: Record<string, { pod: Pod; wanted?: string; chosen: ChosenContainer | string }> = {
  'the only one': { pod: podWith(['web']), chosen: { name: 'web', note: undefined } },
  'the first of several, with a note': {
    pod: podWith(['web', 'log'], ['prepare']),
    chosen: { name: 'web', note: 'Defaulted container "web" out of: web, log, prepare (init)' },
  },
  'the one that the pod names': {
    pod: podWith(['web', 'log'], [], 'log'),
    chosen: { name: 'log', note: undefined },
  },
  'the first when the annotation names an unknown one': {
    pod: podWith(['web'], [], 'gone'),
    chosen: { name: 'web', note: undefined },
  },
  'the requested one': {
    pod: podWith(['web', 'log'], ['prepare'], 'log'),
    wanted: 'prepare',
    chosen: { name: 'prepare', note: undefined },
  },
  'no unknown one': {
    pod: podWith(['web'], ['prepare']),
    wanted: 'db',
    chosen: 'container db not found in pod hello; it has: web, prepare (init)',
  },
};

for (const [name, { pod, wanted, chosen }] of Object.entries(cases)) {
  test(`chooseContainer() takes ${name}`, () => {
    if (typeof chosen === 'string') assert.throws(() => chooseContainer(pod, wanted), { message: chosen });
    else assert.deepEqual(chooseContainer(pod, wanted), chosen);
  });
}
