import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSINode, Node } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { CsiNodeInfo } from '../../plugins/csi/csi-node-info.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { nodeKey } from '../node/node-cache.ts';
import { newCsiNode } from './csi-node-changes.ts';
import { CsiNodeObject } from './csi-node-object.ts';

const FOREVER = new AbortController().signal;
const KEY = { resource: 'csinodes', namespace: '', name: 'box' } as const;
const INFO: CsiNodeInfo = { nodeId: 'i-1', maxVolumes: 39n, topology: { 'example.com/zone': 'a' } };

interface World {
  readonly clock: VirtualClock;
  readonly api: MemoryApiServer;
  readonly object: CsiNodeObject;
  /** The reasons that listeners saw. */
  readonly reasons: readonly (string | undefined)[];
  node(): Promise<Node>;
  csiNode(): Promise<CSINode>;
  finish<T>(work: Promise<T>): Promise<T>;
}

async function world({ hasNode = true } = {}): Promise<World> {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  if (hasNode) await api.direct.create(nodeKey('box'), { metadata: { name: 'box' } } as Node, FOREVER);
  const object = new CsiNodeObject({ nodeName: 'box', api, clock, random, log: silentLog });
  const reasons: (string | undefined)[] = [];
  object.subscribe(() => reasons.push(object.notReadyReason()));
  return {
    clock,
    api,
    object,
    reasons,
    node: () => api.direct.get(nodeKey('box'), FOREVER),
    csiNode: () => api.direct.get(KEY, FOREVER),
    finish: (work) => clock.runUntil(work),
  };
}

async function initialized(): Promise<World> {
  const it = await world();
  await it.finish(it.object.initialize(Promise.resolve(), FOREVER));
  return it;
}

test('the object is created for the node, and the node becomes ready', async () => {
  const it = await world();
  assert.equal(it.object.notReadyReason(), 'CSINode is not yet initialized');
  const known = Promise.withResolvers<void>();
  const work = it.object.initialize(known.promise, FOREVER);
  await it.clock.advance(60_000);
  await assert.rejects(it.csiNode(), { reason: 'NotFound' });
  known.resolve();
  await it.finish(work);
  const { uid = '' } = (await it.node()).metadata;
  const { metadata, spec } = await it.csiNode();
  assert.deepEqual(metadata.ownerReferences, newCsiNode('box', uid).metadata.ownerReferences);
  assert.deepEqual(spec, { drivers: [] });
  assert.deepEqual(it.reasons, [undefined]);
});

test('the object of this node is kept, with its drivers', async () => {
  const it = await world();
  const { uid = '' } = (await it.node()).metadata;
  const before = { ...newCsiNode('box', uid), spec: { drivers: [{ name: 'a.csi', nodeID: 'x', topologyKeys: [] }] } };
  const old = await it.api.direct.create(
    KEY,
    { ...before, metadata: { ...before.metadata, annotations: {} } },
    FOREVER,
  );
  await it.finish(it.object.initialize(Promise.resolve(), FOREVER));
  const after = await it.csiNode();
  assert.equal(after.metadata.uid, old.metadata.uid);
  assert.deepEqual([after.metadata.annotations, after.spec], [before.metadata.annotations, before.spec]);
});

test('the object of an earlier node of the same name is replaced', async () => {
  const it = await world();
  const old = await it.api.direct.create(KEY, newCsiNode('box', 'uid-of-another'), FOREVER);
  await it.finish(it.object.initialize(Promise.resolve(), FOREVER));
  const after = await it.csiNode();
  assert.notEqual(after.metadata.uid, old.metadata.uid);
  assert.equal(after.metadata.ownerReferences?.[0]?.uid, (await it.node()).metadata.uid);
});

test('without a node object the reason is shown, and attempts go on', async () => {
  const it = await world({ hasNode: false });
  const work = it.object.initialize(Promise.resolve(), FOREVER);
  await it.clock.advance(300_000);
  const reason =
    'failed to initialize CSINode: error updating CSINode annotation: timed out waiting for the condition; caused by: nodes "box" not found';
  assert.deepEqual(it.reasons, [reason]);
  await it.api.direct.create(nodeKey('box'), { metadata: { name: 'box' } } as Node, FOREVER);
  await it.finish(work);
  assert.deepEqual(it.reasons, [reason, undefined]);
});

test('a driver is installed in both objects and uninstalled from both', async () => {
  const it = await initialized();
  await it.finish(it.object.install('a.csi', INFO, FOREVER));
  const driver = { name: 'a.csi', nodeID: 'i-1', topologyKeys: ['example.com/zone'], allocatable: { count: 39 } };
  assert.deepEqual((await it.csiNode()).spec.drivers, [driver]);
  const { labels, annotations } = (await it.node()).metadata;
  assert.equal(labels?.['example.com/zone'], 'a');
  assert.equal(annotations?.['csi.volume.kubernetes.io/nodeid'], '{"a.csi":"i-1"}');

  await it.finish(it.object.update('a.csi', { ...INFO, maxVolumes: 12n }, FOREVER));
  assert.deepEqual((await it.csiNode()).spec.drivers, [{ ...driver, allocatable: { count: 12 } }]);

  for (const _ of [1, 2]) await it.finish(it.object.uninstall('a.csi', FOREVER));
  assert.deepEqual((await it.csiNode()).spec.drivers, []);
  const after = (await it.node()).metadata;
  assert.equal(after.annotations?.['csi.volume.kubernetes.io/nodeid'], undefined);
  assert.equal(after.labels?.['example.com/zone'], 'a');
});

test('nothing is written for a driver that is installed already', async () => {
  const it = await initialized();
  await it.finish(it.object.install('a.csi', INFO, FOREVER));
  const before = [(await it.node()).metadata.resourceVersion, (await it.csiNode()).metadata.resourceVersion];
  await it.finish(it.object.install('a.csi', INFO, FOREVER));
  assert.deepEqual([(await it.node()).metadata.resourceVersion, (await it.csiNode()).metadata.resourceVersion], before);
});

test('drivers that install at the same time are both in the objects', async () => {
  const it = await initialized();
  const names = ['a.csi', 'b.csi', 'c.csi'];
  await it.finish(Promise.all(names.map((each) => it.object.install(each, { ...INFO, nodeId: each }, FOREVER))));
  assert.deepEqual(new Set((await it.csiNode()).spec.drivers.map(({ name }) => name)), new Set(names));
  assert.equal(
    (await it.node()).metadata.annotations?.['csi.volume.kubernetes.io/nodeid'],
    '{"a.csi":"a.csi","b.csi":"b.csi","c.csi":"c.csi"}',
  );
});

test('a conflict is retried on the new version', async () => {
  const it = await initialized();
  it.api.faults.next('update', { kind: 'before', error: new ApiError('Conflict', 'the object has been modified') });
  await it.finish(it.object.install('a.csi', INFO, FOREVER));
  assert.equal((await it.csiNode()).spec.drivers.length, 1);
});

test('an outage fails the installation with kubelet’s message', async () => {
  const it = await initialized();
  it.api.faults.everyCall((verb) =>
    verb === 'patch' ? { kind: 'before', error: new ApiError('Unavailable', 'connection refused') } : undefined,
  );
  await assert.rejects(it.finish(it.object.install('a.csi', INFO, FOREVER)), {
    message:
      'error updating Node object with CSI driver node info: error updating node: timed out waiting for the condition; caused by: connection refused',
  });
});

test('an installation waits for the object, and ends with its signal', async () => {
  const it = await world();
  const leaving = new AbortController();
  const work = it.object.install('a.csi', INFO, leaving.signal);
  await it.clock.advance(60_000);
  leaving.abort(new Error('the socket is gone'));
  await assert.rejects(work, { message: 'the socket is gone' });
  await assert.rejects(it.object.install('a.csi', { ...INFO, nodeId: '' }, FOREVER), {
    message: 'error adding CSI driver node info: driverNodeID must not be empty',
  });
});

test('an object that was deleted is created again with the next driver', async () => {
  const it = await initialized();
  await it.api.direct.delete(KEY, {}, FOREVER);
  await it.finish(it.object.install('a.csi', INFO, FOREVER));
  assert.equal((await it.csiNode()).spec.drivers[0]?.name, 'a.csi');
  await it.api.direct.delete(KEY, {}, FOREVER);
  await it.finish(it.object.uninstall('a.csi', FOREVER));
  await assert.rejects(it.csiNode(), { reason: 'NotFound' });
});
