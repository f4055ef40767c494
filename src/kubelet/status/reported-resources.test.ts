import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceRequirements } from '../../api/generated/core-v1.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { reportedPodResources, reportedResources } from './reported-resources.ts';

/** `container` and `pod` were recorded from kubelet v1.36.4 on containerd, cgroup v1. */
const recorded: Record<
  string,
  { spec: ResourceRequirements; container: ResourceRequirements; pod: ResourceRequirements }
> = {
  'a memory limit in bytes': {
    spec: {
      limits: { cpu: '500m', 'ephemeral-storage': '1G', memory: '33554432' },
      requests: { cpu: '100m', 'ephemeral-storage': '500M', memory: '16777216' },
    },
    container: {
      limits: { cpu: '500m', 'ephemeral-storage': '1G', memory: '32Mi' },
      requests: { cpu: '100m', 'ephemeral-storage': '500M', memory: '16777216' },
    },
    pod: { limits: { cpu: '500m', memory: '32Mi' }, requests: { cpu: '100m', memory: '16777216' } },
  },
  'CPU below what the kernel can enforce': {
    spec: { limits: { cpu: '5m', memory: '64M' }, requests: { cpu: '1m', memory: '10e6' } },
    container: { limits: { cpu: '5m', memory: '62500Ki' }, requests: { cpu: '1m', memory: '10e6' } },
    pod: { limits: { memory: '62500Ki' }, requests: { memory: '10e6' } },
  },
  'a memory limit with a binary suffix': {
    spec: { limits: { memory: '1536Mi' }, requests: { memory: '1536Mi' } },
    container: { limits: { memory: '1536Mi' }, requests: { memory: '1536Mi' } },
    pod: { limits: { memory: '1536Mi' }, requests: { memory: '1536Mi' } },
  },
};

for (const [what, { spec, container, pod }] of Object.entries(recorded)) {
  test(`reportedResources() shows ${what} as kubelet does`, () => {
    assert.deepEqual(reportedResources(spec, spec), container);
  });

  test(`reportedPodResources() shows ${what} as kubelet does`, () => {
    const containers = [{ ...exampleContainer, resources: spec }];
    assert.deepEqual(reportedPodResources(examplePod({ spec: { containers } })), pod);
  });
}

const containers: Record<
  string,
  { allocated: ResourceRequirements; actual?: ResourceRequirements; shown: ResourceRequirements }
> = {
  'nothing for no resources': { allocated: {}, shown: {} },
  'thousandths of a CPU': {
    allocated: { limits: { cpu: '1.500' }, requests: { cpu: '0.25' } },
    shown: { limits: { cpu: '1500m' }, requests: { cpu: '250m' } },
  },
  'extended resources and huge pages unchanged': {
    allocated: { limits: { 'example.com/gpu': '2', 'hugepages-2Mi': '4194304' } },
    shown: { limits: { 'example.com/gpu': '2', 'hugepages-2Mi': '4194304' } },
  },
  'zero as it is': {
    allocated: { limits: { cpu: '0', memory: '0' }, requests: { cpu: '0', memory: '0' } },
    shown: { limits: { cpu: '0', memory: '0' }, requests: { cpu: '0', memory: '0' } },
  },
  'what a container ran with before a resize': {
    allocated: { limits: { cpu: '1', memory: '64Mi' }, requests: { cpu: '1' } },
    actual: { limits: { cpu: '5m', memory: '33554432' }, requests: { cpu: '1m' } },
    shown: { limits: { cpu: '10m', memory: '32Mi' }, requests: { cpu: '2m' } },
  },
};

for (const [what, { allocated, actual = allocated, shown }] of Object.entries(containers)) {
  test(`reportedResources() shows ${what}`, () => {
    assert.deepEqual(reportedResources(allocated, actual), shown);
  });
}

test('reportedPodResources() adds up the containers, and keeps what the pod itself asks for', () => {
  const own = { requests: { memory: '1Gi', 'hugepages-2Mi': '4Mi' }, limits: { cpu: '2' } };
  const resources = { requests: { cpu: '100m', memory: '16Mi' }, limits: { memory: '32Mi' } };
  const two = ['a', 'b'].map((name) => ({ ...exampleContainer, name, resources }));
  assert.deepEqual(reportedPodResources(examplePod({ spec: { containers: two, resources: own } })), {
    requests: { memory: '1Gi', 'hugepages-2Mi': '4Mi', cpu: '200m' },
    limits: { cpu: '2', memory: '64Mi' },
  });
});
