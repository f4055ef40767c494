import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec } from './generated/core-v1.ts';
import { podLimits, podRequests, type ResourceAmounts } from './pod-resources.ts';

const needs = (cpu: string, more: Partial<Container> = {}): Container => ({
  name: 'c',
  resources: { requests: { cpu }, limits: { cpu } },
  ...more,
});
const sidecar = (cpu: string): Container => needs(cpu, { restartPolicy: 'Always' });
const text = (amounts: ResourceAmounts) => Object.fromEntries([...amounts].map(([name, it]) => [name, it.toString()]));

const cases: Record<string, { spec: PodSpec; requests: object; limits: object }> = {
  'adds up containers': {
    spec: { containers: [needs('100m'), needs('200m')] },
    requests: { cpu: '300m' },
    limits: { cpu: '300m' },
  },
  'takes the largest init container when it is more': {
    spec: { containers: [needs('100m')], initContainers: [needs('50m'), needs('1')] },
    requests: { cpu: '1' },
    limits: { cpu: '1' },
  },
  'leaves init containers out when they are less': {
    spec: { containers: [needs('100m')], initContainers: [needs('50m')] },
    requests: { cpu: '100m' },
    limits: { cpu: '100m' },
  },
  'adds sidecars to containers and to the init containers after them': {
    spec: { containers: [needs('100m')], initContainers: [needs('300m'), sidecar('200m'), needs('250m')] },
    requests: { cpu: '450m' },
    limits: { cpu: '450m' },
  },
  'adds overhead, to limits only where there is one': {
    spec: { containers: [needs('100m')], overhead: { cpu: '10m', memory: '1Mi' } },
    requests: { cpu: '110m', memory: '1Mi' },
    limits: { cpu: '110m' },
  },
  'prefers resources of the pod over those of its containers': {
    spec: { containers: [needs('100m')], resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } } },
    requests: { cpu: '1' },
    limits: { cpu: '2', memory: '1Gi' },
  },
};

for (const [name, { spec, requests, limits }] of Object.entries(cases)) {
  test(`podRequests() and podLimits() ${name}`, () => {
    const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec };
    assert.deepEqual({ requests: text(podRequests(pod)), limits: text(podLimits(pod)) }, { requests, limits });
  });
}
