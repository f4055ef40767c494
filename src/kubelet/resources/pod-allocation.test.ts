import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import {
  actualPod,
  actualResources,
  actuationOf,
  allocationOf,
  isSameResources,
  withAllocation,
} from './pod-allocation.ts';

const SMALL: ResourceRequirements = { requests: { cpu: '50m', memory: '16Mi' }, limits: { memory: '64Mi' } };
const LARGE: ResourceRequirements = { requests: { cpu: '70m', memory: '16Mi' }, limits: { memory: '80Mi' } };

function container(name: string, resources?: ResourceRequirements): Container {
  return { name, image: 'busybox:1', ...(resources && { resources }) };
}

function pod(containers: Container[], spec: Partial<Pod['spec']> = {}): Pod {
  return examplePod({ spec: { containers, ...spec } });
}

test('allocationOf() has all containers but ephemeral ones, and the pod', () => {
  const given = pod([container('main', SMALL), container('bare')], {
    initContainers: [container('first', LARGE)],
    resources: { limits: { cpu: '1' } },
  });
  assert.deepEqual(allocationOf(given), {
    containers: new Map([
      ['first', LARGE],
      ['main', SMALL],
      ['bare', {}],
    ]),
    pod: { limits: { cpu: '1' } },
  });
});

test('withAllocation() returns the same pod if it asks for its allocation in any spelling', () => {
  const given = pod([container('main', { requests: { cpu: '0.5' }, limits: {} }), container('bare')]);
  const allocation = {
    containers: new Map([
      ['main', { requests: { cpu: '500m' } }],
      ['bare', {}],
    ]),
  };
  assert.equal(withAllocation(given, allocation), given);
});

test('withAllocation() restores the allocated resources, and nothing else', () => {
  const given = pod([container('main', LARGE), container('bare')], { initContainers: [container('first', LARGE)] });
  const resized = withAllocation(given, {
    containers: new Map([
      ['main', SMALL],
      ['first', LARGE],
      ['gone', LARGE],
    ]),
  });
  const expected = { ...given, spec: { ...given.spec, containers: [container('main', SMALL), container('bare')] } };
  assert.deepEqual(resized, expected);
  assert.equal(resized.spec.initContainers, given.spec.initContainers);
});

test('withAllocation() restores the pod-level resources, also if there were none', () => {
  const given = pod([container('main')], { resources: { limits: { cpu: '2' } } });
  const one = { limits: { cpu: '1' } };
  assert.deepEqual(withAllocation(given, { containers: new Map(), pod: one }).spec.resources, one);
  assert.equal('resources' in withAllocation(given, { containers: new Map() }).spec, false);
});

const actuations: Record<
  string,
  { own?: ResourceRequirements; ofPod?: ResourceRequirements; given: ResourceRequirements }
> = {
  'is the container’s resources': { own: SMALL, given: SMALL },
  'is empty without resources': { given: {} },
  'has the pod-level limit if the container has none': {
    own: { requests: { cpu: '50m' }, limits: { memory: '1Gi' } },
    ofPod: { limits: { cpu: '200m', memory: '64Mi' } },
    given: { requests: { cpu: '50m' }, limits: { cpu: '200m', memory: '1Gi' } },
  },
  'treats zero as absent': {
    own: { limits: { cpu: '0' } },
    ofPod: { limits: { cpu: '1' } },
    given: { limits: { cpu: '1' } },
  },
};

for (const [what, { own, ofPod, given }] of Object.entries(actuations)) {
  test(`actuationOf() ${what}`, () => {
    const main = container('main', own);
    assert.deepEqual(actuationOf(pod([main], ofPod && { resources: ofPod }), main), given);
  });
}

test('actualResources() are the actuated ones of the allocated resources', () => {
  const has = {
    requests: { cpu: '50m', memory: '16Mi', 'example.com/gpu': '2' },
    limits: { cpu: '0', memory: '64Mi' },
  };
  const allocatedResources = {
    requests: { cpu: '70m', memory: '16384Ki', 'example.com/gpu': '1' },
    limits: { memory: '80Mi' },
  };
  const actual = actualResources(container('main', allocatedResources), { containers: new Map([['main', has]]) });
  assert.deepEqual(actual, {
    requests: { cpu: '50m', memory: '16384Ki', 'example.com/gpu': '1' },
    limits: { memory: '64Mi' },
  });
});

test('actualPod() is the same pod if it runs with its allocation', () => {
  const given = pod([container('main', SMALL)], { resources: { limits: { memory: '1Gi' } } });
  assert.equal(actualPod(given, undefined), given);
  assert.equal(
    actualPod(given, { containers: new Map([['main', SMALL]]), pod: { limits: { memory: '1024Mi' } } }),
    given,
  );
});

test('actualPod() has the actuated resources of containers and pod', () => {
  const given = pod([container('main', LARGE)], { resources: { limits: { cpu: '2' } } });
  const actual = actualPod(given, { containers: new Map([['main', SMALL]]), pod: { limits: { cpu: '1' } } });
  assert.deepEqual(actual.spec, {
    ...given.spec,
    containers: [container('main', SMALL)],
    resources: { limits: { cpu: '1' } },
  });
});

const pairs: Record<string, { one: ResourceRequirements; other: ResourceRequirements; same: boolean }> = {
  'empty is the same as absent': { one: {}, other: { limits: {}, requests: {}, claims: [] }, same: true },
  'amounts are compared, not texts': { one: { limits: { cpu: 1 } }, other: { limits: { cpu: '1000m' } }, same: true },
  'a different amount': { one: { limits: { cpu: '1' } }, other: { limits: { cpu: '2' } }, same: false },
  'a different resource': { one: { limits: { cpu: '1' } }, other: { limits: { memory: '1' } }, same: false },
  'a request is not a limit': { one: { limits: { cpu: '1' } }, other: { requests: { cpu: '1' } }, same: false },
  'a different claim': { one: { claims: [{ name: 'a' }] }, other: { claims: [{ name: 'b' }] }, same: false },
};

for (const [what, { one, other, same }] of Object.entries(pairs)) {
  test(`isSameResources(): ${what}`, () => {
    assert.equal(isSameResources(one, other), same);
    assert.equal(isSameResources(other, one), same);
  });
}
