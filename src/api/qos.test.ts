import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec, ResourceRequirements } from './generated/core-v1.ts';
import { type QosClass, qosClass } from './qos.ts';

const both = { cpu: '1', memory: '1Gi' };
const container = (resources: ResourceRequirements = {}) => ({ name: 'web', resources });
const guaranteed = container({ requests: both, limits: both });

const cases: Record<string, { spec: PodSpec; qos: QosClass }> = {
  'nothing asked for': { spec: { containers: [container()] }, qos: 'BestEffort' },
  'zero asked for': { spec: { containers: [container({ requests: { cpu: 0 } })] }, qos: 'BestEffort' },
  'only disk asked for': {
    spec: { containers: [container({ requests: { 'ephemeral-storage': '1Gi' } })] },
    qos: 'BestEffort',
  },
  'requests equal to limits': { spec: { containers: [guaranteed, guaranteed] }, qos: 'Guaranteed' },
  'requests equal to limits, written differently': {
    spec: { containers: [container({ requests: { cpu: '1000m', memory: '1024Mi' }, limits: both })] },
    qos: 'Guaranteed',
  },
  'requests below limits': {
    spec: { containers: [container({ requests: { ...both, cpu: '500m' }, limits: both })] },
    qos: 'Burstable',
  },
  'no limit of memory': {
    spec: { containers: [container({ requests: { cpu: 1 }, limits: { cpu: 1 } })] },
    qos: 'Burstable',
  },
  'one container without resources': { spec: { containers: [guaranteed, container()] }, qos: 'Burstable' },
  'an init container without resources': {
    spec: { containers: [guaranteed], initContainers: [container()] },
    qos: 'Burstable',
  },
  'resources of the pod as a whole': {
    spec: { containers: [container()], resources: { requests: both, limits: both } },
    qos: 'Guaranteed',
  },
  'requests of the pod as a whole': {
    spec: { containers: [guaranteed], resources: { requests: both } },
    qos: 'Burstable',
  },
  'empty resources of the pod as a whole': { spec: { containers: [guaranteed], resources: {} }, qos: 'BestEffort' },
};

for (const [name, { spec, qos }] of Object.entries(cases)) {
  test(`qosClass() with ${name} is ${qos}`, () => {
    assert.equal(qosClass({ metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec }), qos);
  });
}
