/** The events that reach the API server, with the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event, Pod } from '../../src/api/generated/core-v1.ts';
import { toStaticPod } from '../../src/api/static-pod.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import {
  createPod,
  FOREVER,
  newClusterWorld,
  podKey,
  podOf,
  SETTINGS,
  startAgent,
  startClusterAgent,
  type World,
} from './memory-agent.ts';

const { nodeName } = SETTINGS;
const AT_ONCE_MS = 1000;

async function create(world: Required<World>, name: string): Promise<Pod> {
  return createPod(world, podOf(name, { dnsPolicy: 'Default' }));
}

async function eventsOf({ apiServer }: Required<World>, kind: string): Promise<readonly Event[]> {
  const fieldSelector = `involvedObject.kind=${kind}`;
  return (await apiServer.direct.list({ resource: 'events', fieldSelector }, FOREVER)).items;
}

function reasons(events: readonly Event[]): string[] {
  return events.map(({ reason = '' }) => reason);
}

test('events of a container name the pod, its resource version and the container', async () => {
  await using it = await startClusterAgent();
  const { metadata } = await create(it, 'web');
  await it.host.clock.advance(AT_ONCE_MS);
  const events = await eventsOf(it, 'Pod');
  assert.deepEqual(reasons(events), ['Pulled', 'Created', 'Started']);
  const { namespace, name, uid, resourceVersion } = metadata;
  const fieldPath = 'spec.containers{main}';
  const expected = { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, resourceVersion, fieldPath };
  for (const { involvedObject } of events) assert.deepEqual(involvedObject, expected);
});

test('events of a static pod name its own UID, which its mirror pod refers to', async () => {
  await using it = await startClusterAgent();
  const origin = { source: 'file', location: '/etc/web.yaml', nodeName, seen: 'now' } as const;
  const pod = toStaticPod(podOf('web', { dnsPolicy: 'Default' }), origin);
  it.source.set(pod);
  await it.host.clock.advance(AT_ONCE_MS);
  const events = await eventsOf(it, 'Pod');
  assert.deepEqual(reasons(events), ['Pulled', 'Created', 'Started']);
  const mirror = await it.apiServer.direct.get(podKey(`web-${nodeName}`), FOREVER);
  const uids = new Set(events.map(({ involvedObject }) => involvedObject.uid));
  assert.deepEqual(uids, new Set([pod.metadata.uid]));
  assert.deepEqual(uids, new Set([mirror.metadata.annotations?.['kubernetes.io/config.mirror']]));
  assert.notEqual(mirror.metadata.uid, pod.metadata.uid);
});

test('a rejected pod gets an event too', async () => {
  await using it = await startClusterAgent();
  await createPod(it, podOf('web', { nodeSelector: { disk: 'none' } }));
  await it.host.clock.advance(AT_ONCE_MS);
  assert.deepEqual(
    (await eventsOf(it, 'Pod')).map(({ type, reason }) => `${type} ${reason}`),
    ['Warning NodeAffinity'],
  );
});

test('a server that rejects events delays no pod, and receives all of them later', async () => {
  await using it = await startClusterAgent();
  let isHanging = true;
  it.apiServer.faults.everyCall((verb, { resource }) =>
    verb === 'create' && resource === 'events' && isHanging ? { kind: 'hang' } : undefined,
  );
  await create(it, 'web');
  await it.host.clock.advance(AT_ONCE_MS);
  await create(it, 'api');
  await it.host.clock.advance(AT_ONCE_MS);
  assert.deepEqual(
    it.agent.pods().map(({ status }) => status.phase),
    ['Running', 'Running'],
  );
  isHanging = false;
  await it.host.clock.advance(60_000);
  assert.equal((await eventsOf(it, 'Pod')).length, 6);
});

test('repeated failures of a container are aggregated into few events', async () => {
  await using it = await startClusterAgent();
  it.runtime.behaviours.set('main', { exits: { afterMs: 100, code: 1 } });
  await create(it, 'web');
  await it.host.clock.advance(600_000);
  const events = await eventsOf(it, 'Pod');
  assert.deepEqual(new Set(reasons(events)), new Set(['Pulled', 'Created', 'Started', 'BackOff']));
  assert.equal(events.length, 4);
  const restarts = it.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount ?? 0;
  assert.equal(events.find(({ reason }) => reason === 'Started')?.count, restarts + 1);
});

test('an agent writes all pending events before it exits', async () => {
  const it = await startClusterAgent();
  await create(it, 'web');
  await it.host.clock.advance(AT_ONCE_MS);
  let isHeld = true;
  it.apiServer.faults.everyCall((verb, { resource }) =>
    verb === 'create' && resource === 'events' && isHeld ? { kind: 'hang' } : undefined,
  );
  await create(it, 'api');
  await it.host.clock.advance(AT_ONCE_MS);
  isHeld = false;
  await it.stop();
  assert.equal((await eventsOf(it, 'Pod')).length, 6);
});

test('a full disk is an event of the node', async () => {
  const world = await newClusterWorld();
  await world.host.fs.makeDirectory('/var/lib/fake-runtime');
  const usage = { capacityBytes: 100 * 2 ** 20, availableBytes: 1, inodes: 1, inodesFree: 1 };
  world.host.fs.setUsage('/var/lib/fake-runtime', usage);
  await using it = await startAgent(world);
  it.source.set();
  await it.host.clock.advance(601_000);
  const events = await eventsOf(world, 'Node');
  assert.ok(reasons(events).includes('ImageGCFailed'));
  const { involvedObject, metadata, source } = events.find(({ reason }) => reason === 'ImageGCFailed') ?? {};
  assert.deepEqual(
    { involvedObject, namespace: metadata?.namespace, source },
    {
      involvedObject: { kind: 'Node', name: nodeName, apiVersion: 'v1' },
      namespace: 'default',
      source: { component: 'kubelet', host: nodeName },
    },
  );
});

test('a pod that falls back from the cluster DNS has an event, and its node too', async () => {
  await using it = await startClusterAgent();
  await createPod(it, podOf('web'));
  await it.host.clock.advance(AT_ONCE_MS);
  const text = 'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy.';
  const found = [...(await eventsOf(it, 'Node')), ...(await eventsOf(it, 'Pod'))].filter(
    ({ reason }) => reason === 'MissingClusterDNS',
  );
  assert.deepEqual(
    found.map(({ type, involvedObject, message = '' }) => [type, involvedObject.name, message.startsWith(text)]),
    [
      ['Warning', nodeName, true],
      ['Warning', 'web', false],
    ],
  );
});

test('a pod whose name another one of its source has is ignored, with an event', async () => {
  await using it = await startClusterAgent();
  const fromFile = (location: string): Pod => {
    const { metadata, ...pod } = podOf('web', { dnsPolicy: 'Default' });
    const unnamed = { ...pod, metadata: { ...metadata, uid: '' } };
    return toStaticPod(unnamed, { source: 'file', location, nodeName, seen: 'now' });
  };
  const [first, second] = [fromFile('/etc/1.yaml'), fromFile('/etc/2.yaml')];
  it.source.set(first, second);
  await it.host.clock.advance(AT_ONCE_MS);
  const { uid, name } = second.metadata;
  const events = (await eventsOf(it, 'Pod')).filter(({ involvedObject }) => involvedObject.uid === uid);
  assert.deepEqual(
    events.map(({ reason, message }) => [reason, message]),
    [
      [
        'FailedValidation',
        `Error validating pod ${name}_default(${uid}) from file due to duplicate pod name "${name}", ignoring`,
      ],
    ],
  );
});

test('a pod that ends while the runtime cannot be asked has an event, and ends later', async () => {
  await using it = await startClusterAgent();
  const pod = await create(it, 'web');
  await it.host.clock.advance(AT_ONCE_MS);
  for (const method of ['listPodSandbox', 'podSandboxStatus'] as const) {
    it.runtime.failures.next(method, { kind: 'before', error: new CriError('Unavailable', 'the runtime is gone') });
  }
  await it.apiServer.direct.delete(podKey('web'), { uid: pod.metadata.uid }, FOREVER);
  await it.host.clock.advance(60_000);
  const found = (await eventsOf(it, 'Pod')).filter(({ reason }) => reason === 'FailedSync');
  assert.deepEqual(
    found.map(({ type, message }) => [type, message]),
    [['Warning', 'error determining status: rpc error: code = Unavailable desc = the runtime is gone']],
  );
  await assert.rejects(it.apiServer.direct.get(podKey('web'), FOREVER), { reason: 'NotFound' });
});
