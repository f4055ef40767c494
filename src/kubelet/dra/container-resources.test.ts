import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Container, Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { type ClaimInfo, claimKey } from './claim-info.ts';
import { ContainerResources } from './container-resources.ts';

const DRIVER = 'gpu.example.com';
const device = (name: string, ...requestNames: string[]) => ({
  ...{ poolName: 'box', deviceName: name, requestNames, cdiDeviceIds: [`${DRIVER}/gpu=${name}`] },
});
const CLAIM: ClaimInfo = {
  uid: 'c1',
  name: 'gpu',
  namespace: 'default',
  podUids: new Set(['u1']),
  devices: new Map([
    [DRIVER, [device('a', 'big'), device('b', 'small'), device('all')]],
    ['other.example.com', [{ poolName: 'p', deviceName: 'd', requestNames: ['big'], cdiDeviceIds: [] }]],
  ]),
};
const STATES = new Map([
  ['a', { health: 'Unhealthy', message: 'too hot' }],
  ['b', { health: 'Healthy', message: '' }],
] as const);

function resourcesOf({ claims = [CLAIM], extended = true, messages = true } = {}): ContainerResources {
  const byKey = new Map(claims.map((each) => [claimKey(each), each]));
  return new ContainerResources({
    cache: { get: (key) => byKey.get(key) },
    gates: { extendedResources: extended, healthMessages: messages },
    health: {
      get: (_, __, name) => (name === 'a' || name === 'b' ? STATES.get(name) : undefined) ?? UNKNOWN,
    },
  });
}
const UNKNOWN = { health: 'Unknown', message: '' } as const;

function podOf(resources: Container['resources'], status: PodStatus = {}): Pod {
  const resourceClaims = [
    { name: 'c', resourceClaimName: 'gpu' },
    { name: 'template', resourceClaimTemplateName: 't' },
  ];
  return { ...examplePod({ spec: { resourceClaims }, container: { resources } }), status };
}
const mainOf = (pod: Pod): Container => pod.spec.containers[0] ?? assert.fail('no container');
const cdi = (...names: string[]) => names.map((name) => `${DRIVER}/gpu=${name}`);
const extendedOf = (containerName: string): PodStatus => ({
  extendedResourceClaimStatus: {
    resourceClaimName: 'gpu',
    requestMappings: [{ containerName, resourceName: 'example.com/gpu', requestName: 'small' }],
  },
});

suite('the CDI devices of a container', () => {
  const cases: Record<string, { resources: Container['resources']; status?: PodStatus; devices: string[] }> = {
    'a whole claim': { resources: { claims: [{ name: 'c' }] }, devices: cdi('a', 'b', 'all') },
    'one request': { resources: { claims: [{ name: 'c', request: 'small' }] }, devices: cdi('b', 'all') },
    'a subrequest': { resources: { claims: [{ name: 'c', request: 'big/fast' }] }, devices: cdi('a', 'all') },
    'two requests': {
      resources: {
        claims: [
          { name: 'c', request: 'small' },
          { name: 'c', request: 'big' },
        ],
      },
      devices: cdi('b', 'all', 'a'),
    },
    'no claim': { resources: {}, devices: [] },
    'a template without a claim': {
      resources: { claims: [{ name: 'template' }] },
      status: { resourceClaimStatuses: [{ name: 'template' }] },
      devices: [],
    },
    'an extended resource': {
      resources: { requests: { 'example.com/gpu': 1 } },
      status: extendedOf('web'),
      devices: cdi('b', 'all'),
    },
    'an extended resource of another container': {
      resources: { requests: { 'example.com/gpu': 1 } },
      status: extendedOf('other'),
      devices: [],
    },
    'none of an extended resource': {
      resources: { requests: { 'example.com/gpu': 0 } },
      status: extendedOf('web'),
      devices: [],
    },
  };
  for (const [what, { resources, status, devices }] of Object.entries(cases)) {
    test(what, () => {
      const pod = podOf(resources, status);
      assert.deepEqual(resourcesOf().runOptions(pod, mainOf(pod)).cdiDevices ?? [], devices);
    });
  }

  test('no extended resources with the gate off', () => {
    const pod = podOf({ requests: { 'example.com/gpu': 1 } }, extendedOf('web'));
    assert.deepEqual(resourcesOf({ extended: false }).runOptions(pod, mainOf(pod)), {});
  });

  test('a container without its prepared claim is an error', () => {
    const pod = podOf({ claims: [{ name: 'c' }] });
    const message = 'internal error: unable to get claim info for ResourceClaim gpu in namespace default';
    const others = { ...CLAIM, podUids: new Set(['u2']) };
    for (const claims of [[], [others]]) {
      assert.throws(() => resourcesOf({ claims }).runOptions(pod, mainOf(pod)), { message });
    }
  });
});

suite('the health of the devices of a container', () => {
  test('is shown by claim and request', () => {
    const pod = podOf({ claims: [{ name: 'c' }, { name: 'c', request: 'small' }, { name: 'unknown' }] });
    const unhealthy = { resourceID: `${DRIVER}/gpu=a`, health: 'Unhealthy', message: 'too hot' };
    const healthy = { resourceID: `${DRIVER}/gpu=b`, health: 'Healthy' };
    const unknown = { resourceID: `${DRIVER}/gpu=all`, health: 'Unknown' };
    const withoutCdi = { resourceID: 'other.example.com/p/d', health: 'Unknown' };
    assert.deepEqual(resourcesOf().resourceHealth(pod, 'web'), [
      { name: 'claim:c', resources: [unhealthy, healthy, unknown, withoutCdi] },
      { name: 'claim:c/small', resources: [healthy, unknown] },
    ]);
    const [first] = resourcesOf({ messages: false }).resourceHealth(pod, 'web');
    assert.deepEqual(first?.resources?.[0], { resourceID: `${DRIVER}/gpu=a`, health: 'Unhealthy' });
  });

  test('is empty without claims, and before they are prepared', () => {
    const pod = podOf({ claims: [{ name: 'c' }, { name: 'template' }] });
    assert.deepEqual(resourcesOf({ claims: [] }).resourceHealth(pod, 'web'), []);
    assert.deepEqual(resourcesOf().resourceHealth(podOf({}), 'web'), []);
    assert.deepEqual(resourcesOf().resourceHealth(pod, 'other'), []);
  });
});

test('the pod resources API shows the claims of a container', () => {
  const pod = podOf({ claims: [{ name: 'c', request: 'small' }] });
  const [claim, ...more] = resourcesOf().claims(pod, 'web');
  assert.deepEqual([claim?.claimName, claim?.claimNamespace, more], ['gpu', 'default', []]);
  assert.deepEqual(claim?.resources.at(-1), {
    ...{ cdiDevices: [], driverName: 'other.example.com', poolName: 'p', deviceName: 'd' },
  });
  assert.deepEqual(resourcesOf({ claims: [] }).claims(pod, 'web'), []);
  assert.deepEqual(resourcesOf().claims(pod, 'other'), []);
});
