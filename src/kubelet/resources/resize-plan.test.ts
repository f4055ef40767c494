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
  'leaves alone who has what it was promised': {
    wants: { requests: { cpu: '0.05', memory: '16384Ki' }, limits: { memory: '64Mi' } },
  },
  'leaves alone whose other resources are others': {
    wants: { requests: { cpu: '50m', memory: '16Mi', 'example.com/gpu': '1' }, limits: { memory: '64Mi' } },
  },
  'updates a request': { wants: { ...HAS, requests: { cpu: '70m', memory: '16Mi' } }, how: 'update' },
  'updates a limit': { wants: { ...HAS, limits: { memory: '80Mi' } }, how: 'update' },
  'adds a limit': { wants: { ...HAS, limits: { cpu: '1', memory: '64Mi' } }, how: 'update' },
  'restarts who wants that': {
    wants: { ...HAS, requests: { cpu: '70m', memory: '16Mi' } },
    policy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
    how: 'restart',
  },
  'updates who wants a restart for another resource': {
    wants: { ...HAS, limits: { memory: '80Mi' } },
    policy: [
      { resourceName: 'cpu', restartPolicy: 'RestartContainer' },
      { resourceName: 'memory', restartPolicy: 'NotRequired' },
    ],
    how: 'update',
  },
};

for (const [what, { wants, policy, how }] of Object.entries(cases)) {
  test(`resizeView() ${what}`, () => {
    const pod = examplePod({ container: { resources: wants, ...(policy && { resizePolicy: policy }) } });
    const { name = '' } = pod.spec.containers[0] ?? {};
    const expected = { containers: new Map(how ? [[name, how]] : []), pod: false };
    assert.deepEqual(planResize(pod, { containers: new Map([[name, HAS]]) }), expected);
  });
}

test('resizeView() takes what is not known for what it should be', () => {
  const pod = examplePod({ container: { resources: HAS } });
  const nothing = { containers: new Map(), pod: false };
  assert.deepEqual(planResize(pod, undefined), nothing);
  assert.deepEqual(planResize(pod, { containers: new Map() }), nothing);
});

test('resizeView() of a pod as a whole: who has no limit of its own follows', () => {
  const pod = examplePod({ spec: { resources: { limits: { cpu: '2' } } } });
  const { name = '' } = pod.spec.containers[0] ?? {};
  const one = { limits: { cpu: '1' } };
  const expected = { containers: new Map([[name, 'update']]), pod: true };
  assert.deepEqual(planResize(pod, { containers: new Map([[name, one]]), pod: one }), expected);
});
