import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { mergeSnapshot, NO_PODS } from './desired-pods.ts';
import { type MirrorView, mirrorPodOf, planMirrorPods, syncMirrorPods } from './mirror-pods.ts';
import { indexPods } from './pod-index.ts';
import type { SourceName } from './pod-source.ts';

const NODE = { name: 'box', uid: 'node-uid' };
const LIFE = new AbortController().signal;

function pod(name: string, uid: string, metadata: Partial<Pod['metadata']>): Pod {
  const containers = [{ name: 'main', image: 'busybox' }];
  return { metadata: { name, namespace: 'default', uid, ...metadata }, spec: { containers, nodeName: 'box' } };
}

function staticPod(name: string, hash: string): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': hash };
  return { ...pod(name, hash, { annotations }), status: { phase: 'Pending' } };
}

function mirrorPod(name: string, uid: string, hash: string, metadata: Partial<Pod['metadata']> = {}): Pod {
  const annotations = { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': hash };
  return pod(name, uid, { annotations, ...metadata });
}

function indexOf(bySource: Partial<Record<SourceName, readonly Pod[]>>) {
  let all = NO_PODS;
  for (const source of ['file', 'http', 'api'] as const) {
    const pods = bySource[source];
    if (pods) all = mergeSnapshot(all, source, { pods, errors: [] }).desired;
  }
  return indexPods(all);
}

const etcd = staticPod('etcd', 'h1');
const mirror = mirrorPod('etcd', 'm1', 'h1');
const outdated = mirrorPod('etcd', 'm1', 'h0');
const deleted = mirrorPod('etcd', 'm1', 'h1', { deletionTimestamp: '2026-01-01T00:00:00Z' });
const nothing = { create: [], recreate: [], delete: [] };

const plans: Record<
  string,
  { pods: Partial<Record<SourceName, readonly Pod[]>>; given?: Partial<MirrorView>; plan: unknown }
> = {
  'keeps a mirror of the current version': { pods: { file: [etcd], api: [mirror] }, plan: nothing },
  'creates a missing mirror': {
    pods: { file: [etcd], api: [] },
    plan: { ...nothing, create: [etcd] },
  },
  'creates none for a pod of the API server': {
    pods: { file: [], api: [pod('web', 'u1', {})] },
    plan: nothing,
  },
  'replaces a mirror of another version': {
    pods: { file: [etcd], api: [outdated] },
    plan: { ...nothing, recreate: [{ outdated, pod: etcd }] },
  },
  'replaces a mirror that is being deleted': {
    pods: { file: [etcd], api: [deleted] },
    plan: { ...nothing, recreate: [{ outdated: deleted, pod: etcd }] },
  },
  'deletes the mirror of a pod that is gone': {
    pods: { file: [], api: [mirror] },
    plan: { ...nothing, delete: [mirror] },
  },
  'keeps the mirror of a terminating pod': {
    pods: { file: [], api: [mirror] },
    given: { ending: new Set(['etcd_default']) },
    plan: nothing,
  },
  'keeps the mirror of a terminating pod although its successor waits': {
    pods: { file: [etcd], api: [outdated] },
    given: { ending: new Set(['etcd_default']) },
    plan: nothing,
  },
  'deletes nothing before every source is ready': { pods: { api: [mirror] }, plan: nothing },
  'plans nothing before the API source is ready': { pods: { file: [etcd] }, plan: nothing },
};

for (const [name, { pods, given, plan }] of Object.entries(plans)) {
  test(`planMirrorPods() ${name}`, () => {
    const view: MirrorView = { index: indexOf(pods), sources: ['file', 'api'], ending: new Set(), ...given };
    assert.deepEqual(planMirrorPods(view), plan);
  });
}

test('a mirror is the static pod, owned by the node, without server-set fields', () => {
  assert.deepEqual(mirrorPodOf({ ...etcd, metadata: { ...etcd.metadata, labels: { app: 'etcd' } } }, NODE), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'etcd',
      namespace: 'default',
      uid: '',
      labels: { app: 'etcd' },
      annotations: {
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.hash': 'h1',
        'kubernetes.io/config.mirror': 'h1',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'box', uid: 'node-uid', controller: true }],
    },
    spec: etcd.spec,
  });
});

function setUp() {
  const clock = new VirtualClock();
  const api = createMemoryApiServer({ clock, random: new SeededRandom(1) });
  const key = { resource: 'pods', namespace: 'default', name: 'etcd' } as const;
  return {
    api,
    key,
    find: () => api.direct.get(key, LIFE).catch(() => undefined),
    /** One sync: list, plan, execute. */
    async round(statics: readonly Pod[]) {
      const { items } = await api.direct.list({ resource: 'pods' }, LIFE);
      const index = indexOf({ file: statics, api: items });
      const plan = planMirrorPods({ index, sources: ['file', 'api'], ending: new Set() });
      await syncMirrorPods(plan, { api, node: NODE }, LIFE);
      return plan;
    },
  };
}

test('a mirror is created, replaced for another version, and deleted with its pod', async () => {
  const it = setUp();
  await it.round([etcd]);
  const first = await it.find();
  assert.equal(first?.metadata.annotations?.['kubernetes.io/config.mirror'], 'h1');
  assert.notEqual(first?.metadata.uid, etcd.metadata.uid);
  assert.deepEqual(await it.round([etcd]), nothing);

  await it.round([staticPod('etcd', 'h2')]);
  const second = await it.find();
  assert.equal(second?.metadata.annotations?.['kubernetes.io/config.mirror'], 'h2');
  assert.notEqual(second?.metadata.uid, first?.metadata.uid);

  await it.round([]);
  assert.equal(await it.find(), undefined);
});

test('a mirror that a user deletes is recreated', async () => {
  const it = setUp();
  await it.round([etcd]);
  const first = await it.find();
  await it.api.direct.delete(it.key, {}, LIFE);
  await it.round([etcd]);
  const second = await it.find();
  assert.notEqual(second?.metadata.uid, first?.metadata.uid);
  assert.equal(second?.metadata.deletionTimestamp, undefined);
});

test('without a node object no mirror is created or replaced, but orphans are deleted', async () => {
  const it = setUp();
  await it.round([etcd]);
  const first = await it.find();
  assert.ok(first);
  const deps = { api: it.api, node: undefined };
  const plan = { ...nothing, create: [staticPod('new', 'h9')], recreate: [{ outdated: first, pod: etcd }] };
  await syncMirrorPods(plan, deps, LIFE);
  const { items } = await it.api.direct.list({ resource: 'pods' }, LIFE);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.uid),
    [first.metadata.uid],
  );
  await syncMirrorPods({ ...nothing, delete: [first] }, deps, LIFE);
  assert.equal(await it.find(), undefined);
});

const lost = new ApiError('Unavailable', 'connection reset');

for (const kind of ['before', 'after'] as const) {
  test(`a request that fails ${kind} its effect is reported, and the next sync repairs it`, async () => {
    const it = setUp();
    it.api.faults.next('create', { kind, error: lost });
    await assert.rejects(it.round([etcd]), { name: 'AggregateError', errors: [lost] });
    await it.round([etcd]);
    assert.equal((await it.find())?.metadata.annotations?.['kubernetes.io/config.mirror'], 'h1');

    it.api.faults.next('delete', { kind, error: lost });
    await assert.rejects(it.round([]), { name: 'AggregateError' });
    await it.round([]);
    assert.equal(await it.find(), undefined);
  });
}

test('another pod with the name of an outdated mirror is kept', async () => {
  const it = setUp();
  const other = await it.api.direct.create(it.key, pod('etcd', '', {}), LIFE);
  await syncMirrorPods({ ...nothing, recreate: [{ outdated, pod: etcd }] }, { api: it.api, node: NODE }, LIFE);
  assert.equal((await it.find())?.metadata.uid, other.metadata.uid);
  await syncMirrorPods({ ...nothing, create: [etcd], delete: [mirror] }, { api: it.api, node: NODE }, LIFE);
  assert.equal((await it.find())?.metadata.uid, other.metadata.uid);
});

test('one error does not prevent the other mirrors from being written', async () => {
  const it = setUp();
  it.api.faults.next('create', { kind: 'before', error: lost });
  await assert.rejects(it.round([staticPod('first', 'h5'), etcd]));
  assert.notEqual(await it.find(), undefined);
});
