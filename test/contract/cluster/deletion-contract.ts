import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../src/api/generated/core-v1.ts';
import type { ObjectKey } from '../../../src/kubelet/api-client/api-server.ts';
import { type ApiWorld, configMapOf, createPod, freshName, patience, watched } from './api-world.ts';

export function deletionContract(worldOf: () => ApiWorld): void {
  const remove = (key: ObjectKey, options: { uid?: string; graceSeconds?: number } = {}) =>
    worldOf().api.delete(key, options, patience());
  const graceOf = async (key: ObjectKey<'pods'>): Promise<number | undefined> =>
    (await worldOf().api.get(key, patience())).metadata.deletionGracePeriodSeconds;
  const isGone = (key: ObjectKey) => assert.rejects(worldOf().api.get(key, patience()), { reason: 'NotFound' });
  /** The events of a watch since the pod’s creation. */
  const fate = async ({ key, pod }: { key: ObjectKey<'pods'>; pod: Pod }, count: number) => {
    const { resourceVersion = '' } = pod.metadata;
    const selection = { resource: key.resource, fieldSelector: `metadata.name=${key.name}`, resourceVersion };
    const events = await watched(worldOf(), selection, count);
    return events.map(({ type, object }) => `${type} ${object.metadata.deletionGracePeriodSeconds ?? 'no'} grace`);
  };

  test('a collection is deleted by its field selector', async () => {
    const { api } = worldOf();
    const [nodeName, driver] = [freshName('node'), 'gpu.example.com'];
    const create = (of: string, by: string) => {
      const name = freshName('slice');
      const spec = {
        driver: by,
        nodeName: of,
        pool: { name: of, generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'gpu-0' }],
      };
      const key = { resource: 'resourceslices', namespace: '', name } as const;
      return api.create(key, { metadata: { name }, spec }, patience());
    };
    const left = async () => {
      const { items } = await api.list({ resource: 'resourceslices' }, patience());
      const ours = items.filter(({ spec }) => spec.nodeName?.startsWith(nodeName));
      return ours.map(({ spec }) => `${spec.nodeName?.slice(nodeName.length)} ${spec.driver}`).sort();
    };
    for (const node of [nodeName, `${nodeName}-other`])
      for (const by of [driver, 'nic.example.com']) await create(node, by);
    const fieldSelector = `spec.driver=${driver},spec.nodeName=${nodeName}`;
    await api.deleteCollection({ resource: 'resourceslices', fieldSelector }, patience());
    assert.deepEqual(await left(), [' nic.example.com', `-other ${driver}`, '-other nic.example.com']);
    await api.deleteCollection({ resource: 'resourceslices', fieldSelector: `spec.nodeName=${nodeName}` }, patience());
    assert.deepEqual(await left(), [`-other ${driver}`, '-other nic.example.com']);
  });

  test('a pod of a node gets its own grace period, and the node confirms the deletion', async () => {
    const created = await createPod(worldOf(), { terminationGracePeriodSeconds: 20 });
    await remove(created.key);
    const { metadata } = await worldOf().api.get(created.key, patience());
    assert.deepEqual([metadata.deletionGracePeriodSeconds, metadata.generation], [20, 2]);
    assert.ok((metadata.deletionTimestamp ?? '') > (metadata.creationTimestamp ?? ''));
    await remove(created.key, { graceSeconds: 0, uid: metadata.uid });
    await isGone(created.key);
    assert.deepEqual(await fate(created, 3), ['MODIFIED 20 grace', 'MODIFIED 0 grace', 'DELETED 0 grace']);
  });

  test('a requested grace period is used', async () => {
    const { key } = await createPod(worldOf());
    await remove(key, { graceSeconds: 7 });
    assert.equal(await graceOf(key), 7);
  });

  test('a pending deletion can only be shortened', async () => {
    const { key } = await createPod(worldOf());
    await remove(key, { graceSeconds: 20 });
    const first = await worldOf().api.get(key, patience());
    for (const graceSeconds of [20, 300]) await remove(key, { graceSeconds });
    await remove(key);
    assert.deepEqual(await worldOf().api.get(key, patience()), first);
    await remove(key, { graceSeconds: 5 });
    const { metadata } = await worldOf().api.get(key, patience());
    assert.deepEqual([metadata.deletionGracePeriodSeconds, metadata.generation], [5, 2]);
    assert.ok((metadata.deletionTimestamp ?? '') < (first.metadata.deletionTimestamp ?? ''));
  });

  test('a pod without a node is removed at once', async () => {
    const created = await createPod(worldOf(), { nodeName: undefined });
    await remove(created.key);
    await isGone(created.key);
    assert.deepEqual(await fate(created, 2), ['MODIFIED 0 grace', 'DELETED 0 grace']);
  });

  for (const phase of ['Succeeded', 'Failed']) {
    test(`a pod that has ${phase.toLowerCase()} is removed at once`, async () => {
      const { key } = await createPod(worldOf());
      await worldOf().api.patch(key, { status: { phase } }, { subresource: 'status' }, patience());
      await remove(key);
      await isGone(key);
    });
  }

  test('a deletion with a uid is for that object only', async () => {
    const { key, pod } = await createPod(worldOf());
    await assert.rejects(remove(key, { uid: 'other' }), {
      reason: 'Conflict',
      message:
        `Operation cannot be fulfilled on Pod "${key.name}": the UID in the precondition (other) does not match ` +
        `the UID in record (${pod.metadata.uid}). The object might have been deleted and then recreated`,
    });
    assert.equal(await graceOf(key), undefined);
  });

  test('an update cannot revert a deletion', async () => {
    const { key, pod } = await createPod(worldOf());
    await remove(key);
    const { resourceVersion: _, ...metadata } = pod.metadata;
    const updated = await worldOf().api.update(key, { ...pod, metadata }, patience());
    assert.equal(updated.metadata.deletionGracePeriodSeconds, 30);
    assert.notEqual(updated.metadata.deletionTimestamp, undefined);
  });

  test('a finalizer keeps a pod until it is removed', async () => {
    const { key } = await createPod(worldOf(), {}, { finalizers: ['example.com/hold'] });
    await remove(key, { graceSeconds: 0 });
    assert.equal(await graceOf(key), 0);
    await worldOf().api.patch(key, { metadata: { finalizers: null } }, {}, patience());
    await isGone(key);
  });

  test('other objects are removed at once, unless a finalizer keeps them', async () => {
    const world = worldOf();
    const name = freshName('map');
    const key = { resource: 'configmaps', namespace: world.namespace, name } as const;
    await world.api.create(key, configMapOf(world, name, {}), patience());
    await remove(key, { graceSeconds: 30 });
    await isGone(key);
    const held = { metadata: { name, namespace: world.namespace, finalizers: ['example.com/hold'] } };
    await world.api.create(key, held, patience());
    await remove(key);
    const { metadata } = await world.api.get(key, patience());
    assert.equal(metadata.deletionGracePeriodSeconds, 0);
    await world.api.patch(key, { metadata: { finalizers: null } }, {}, patience());
    await isGone(key);
  });
}
