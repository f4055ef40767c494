import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountsOf } from '../../api/pod-resources.ts';
import { type NodeFacts, withRegisteredNode } from './node-admission.ts';

const OWN: NodeFacts = {
  nodeName: 'box',
  labels: { 'kubernetes.io/os': 'linux' },
  maxPods: 110,
  allocatable: amountsOf({ cpu: '2' }),
  host: { kernel: { major: 6, minor: 1 }, appArmorEnabled: false },
  supportsSupplementalGroupsPolicy: false,
};

test('withRegisteredNode() uses the facts of the agent while the node object is not known', () => {
  assert.equal(withRegisteredNode(OWN, undefined), OWN);
});

test('withRegisteredNode() uses labels, taints and allocatable resources of the API server', () => {
  const allocatable = { cpu: '1500m', memory: '1Gi', pods: '20' };
  const taints = [{ key: 'dead', effect: 'NoExecute' }];
  const registered = { metadata: { name: 'box', labels: { disk: 'fast' } }, spec: { taints }, status: { allocatable } };
  assert.deepEqual(withRegisteredNode(OWN, registered), {
    ...OWN,
    labels: { disk: 'fast' },
    taints,
    maxPods: 20,
    allocatable: amountsOf(allocatable),
  });
});

test('withRegisteredNode() uses the resources of the agent while the API server has none', () => {
  const registered = { metadata: { name: 'box' }, spec: {} };
  assert.deepEqual(withRegisteredNode(OWN, registered), { ...OWN, labels: {}, taints: undefined });
});
