import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { type ContainerResize, planResize } from './resize-plan.ts';

const HAS: ResourceRequirements = { requests: { cpu: '50m', memory: '16Mi' }, limits: { cpu: '0', memory: '64Mi' } };

const cases: Record<
  string,
  { wants: ResourceRequirements; policy?: Container['resizePolicy']; how?: ContainerResize }
> = {
  'is empty for a pod that runs with its allocation': {
    wants: { requests: { cpu: '0.05', memory: '16384Ki' }, limits: { memory: '64Mi' } },
  },
  'ignores changes of other resources': {
    wants: { requests: { cpu: '50m', memory: '16Mi', 'example.com/gpu': '1' }, limits: { memory: '64Mi' } },
  },
  'updates a request': { wants: { ...HAS, requests: { cpu: '70m', memory: '16Mi' } }, how: 'update' },
  'updates a limit': { wants: { ...HAS, limits: { memory: '80Mi' } }, how: 'update' },
  'adds a limit': { wants: { ...HAS, limits: { cpu: '1', memory: '64Mi' } }, how: 'update' },
  'restarts if the policy asks for it': {
    wants: { ...HAS, requests: { cpu: '70m', memory: '16Mi' } },
    policy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
    how: 'restart',
  },
  'updates if the restart policy is for another resource': {
    wants: { ...HAS, limits: { memory: '80Mi' } },
    policy: [
      { resourceName: 'cpu', restartPolicy: 'RestartContainer' },
      { resourceName: 'memory', restartPolicy: 'NotRequired' },
    ],
    how: 'update',
  },
};

for (const [what, { wants, policy, how }] of Object.entries(cases)) {
  test(`planResize() ${what}`, () => {
    const pod = examplePod({ container: { resources: wants, ...(policy && { resizePolicy: policy }) } });
    const { name = '' } = pod.spec.containers[0] ?? {};
    const expected = { containers: new Map(how ? [[name, how]] : []), pod: false };
    assert.deepEqual(planResize(pod, { containers: new Map([[name, HAS]]) }), expected);
  });
}

test('planResize() treats unknown containers as up to date', () => {
  const pod = examplePod({ container: { resources: HAS } });
  const nothing = { containers: new Map(), pod: false };
  assert.deepEqual(planResize(pod, undefined), nothing);
  assert.deepEqual(planResize(pod, { containers: new Map() }), nothing);
});

test('planResize() with pod-level resources: containers without a limit follow the pod', () => {
  const pod = examplePod({ spec: { resources: { limits: { cpu: '2' } } } });
  const { name = '' } = pod.spec.containers[0] ?? {};
  const one = { limits: { cpu: '1' } };
  const expected = { containers: new Map([[name, 'update']]), pod: true };
  assert.deepEqual(planResize(pod, { containers: new Map([[name, one]]), pod: one }), expected);
});
