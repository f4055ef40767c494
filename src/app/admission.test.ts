import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountsOf } from '../api/pod-resources.ts';
import { asRegistered } from './admission.ts';
import type { NodeFacts } from './agent-facts.ts';

const OWN: NodeFacts = {
  nodeName: 'box',
  labels: { 'kubernetes.io/os': 'linux' },
  maxPods: 110,
  allocatable: amountsOf({ cpu: '2' }),
  host: { kernel: { major: 6, minor: 1 }, appArmorEnabled: false },
  supportsSupplementalGroupsPolicy: false,
};

test('asRegistered() goes by its own idea of the node as long as there is no other', () => {
  assert.equal(asRegistered(OWN, undefined), OWN);
});

test('asRegistered() goes by the labels and by what is allocatable at the API server', () => {
  const allocatable = { cpu: '1500m', memory: '1Gi', pods: '20' };
  const registered = { metadata: { name: 'box', labels: { disk: 'fast' } }, spec: {}, status: { allocatable } };
  assert.deepEqual(asRegistered(OWN, registered), {
    ...OWN,
    labels: { disk: 'fast' },
    maxPods: 20,
    allocatable: amountsOf(allocatable),
  });
});

test('asRegistered() goes by its own resources where the API server has none yet', () => {
  const registered = { metadata: { name: 'box' }, spec: {} };
  assert.deepEqual(asRegistered(OWN, registered), { ...OWN, labels: {} });
});
