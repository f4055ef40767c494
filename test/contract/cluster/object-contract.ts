import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ApiWorld,
  configMapOf,
  createPod,
  freshName,
  leaseOf,
  nodeOf,
  patience,
  podKey,
  podOf,
} from './api-world.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function objectContract(worldOf: () => ApiWorld): void {
  test('a created pod has a uid, a timestamp, generation 1, its defaults, and is Pending', async () => {
    const { key, pod } = await createPod(worldOf(), {}, { uid: 'mine', labels: { app: 'web' } });
    const { metadata, spec, status } = pod;
    assert.match(metadata.uid, UUID_V4);
    assert.match(metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual([metadata.name, metadata.namespace, metadata.generation], [key.name, worldOf().namespace, 1]);
    assert.deepEqual([spec.restartPolicy, spec.terminationGracePeriodSeconds], ['Always', 30]);
    assert.deepEqual([status?.phase, status?.qosClass], ['Pending', 'BestEffort']);
    assert.deepEqual(await worldOf().api.get(key, patience()), pod);
  });

  test('a list has created objects, without their kind', async () => {
    const { key, pod } = await createPod(worldOf());
    const { items } = await worldOf().api.list(
      { resource: 'pods', fieldSelector: `metadata.name=${key.name}` },
      patience(),
    );
    const { apiVersion, kind, ...rest } = pod;
    assert.deepEqual([items, apiVersion, kind], [[rest], 'v1', 'Pod']);
  });

  test('a list selects by namespace and by fields', async () => {
    const world = worldOf();
    const node = freshName('node');
    const { key } = await createPod(world, { nodeName: node });
    const names = async (fieldSelector: string, namespace = world.namespace): Promise<(string | undefined)[]> => {
      const { items } = await world.api.list({ resource: 'pods', namespace, fieldSelector }, patience());
      return items.map(({ metadata }) => metadata.name);
    };
    assert.deepEqual(await names(`spec.nodeName=${node}`), [key.name]);
    assert.deepEqual(await names(`spec.nodeName=${node},metadata.name!=${key.name}`), []);
    assert.deepEqual(await names(`spec.nodeName=${node}`, 'kube-public'), []);
    await assert.rejects(names('spec.containers=x'), {
      reason: 'BadRequest',
      message: 'field label not supported: spec.containers',
    });
  });

  test('versions grow over all objects, and a list has the newest', async () => {
    const world = worldOf();
    const { pod } = await createPod(world);
    const name = freshName('map');
    const key = { resource: 'configmaps', namespace: world.namespace, name } as const;
    const map = await world.api.create(key, configMapOf(world, name, {}), patience());
    const { resourceVersion } = await world.api.list({ resource: 'nodes' }, patience());
    assert.ok(Number(map.metadata.resourceVersion) > Number(pod.metadata.resourceVersion));
    assert.ok(Number(resourceVersion) >= Number(map.metadata.resourceVersion));
  });

  test('a name is made from generateName', async () => {
    const world = worldOf();
    const pod = podOf(world, '', {}, { generateName: 'web-' });
    const created = await world.api.create(podKey(world, ''), pod, patience());
    assert.match(created.metadata.name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test('an invalid create is rejected with the server’s message', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const create = (name: string, change: object) =>
      world.api.create(podKey(world, name), podOf(world, name, {}, change), patience());
    await assert.rejects(create(key.name, {}), {
      name: 'ApiError',
      reason: 'AlreadyExists',
      message: `pods "${key.name}" already exists`,
    });
    await assert.rejects(create('', {}), {
      reason: 'Invalid',
      message: /^Pod "" is invalid: .*metadata\.name: Required value: name or generateName is required/,
    });
    await assert.rejects(create(freshName(), { namespace: 'other' }), {
      reason: 'BadRequest',
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    });
    await assert.rejects(create(freshName(), { resourceVersion: pod.metadata.resourceVersion }), {
      message: 'resourceVersion should not be set on objects to be created',
    });
  });

  test('requests for a missing object are rejected', async () => {
    const world = worldOf();
    const key = podKey(world, freshName());
    const notFound = { reason: 'NotFound', message: `pods "${key.name}" not found` };
    await assert.rejects(world.api.get(key, patience()), notFound);
    await assert.rejects(world.api.update(key, podOf(world, key.name), patience()), notFound);
    await assert.rejects(world.api.patch(key, {}, {}, patience()), notFound);
    await assert.rejects(world.api.delete(key, {}, patience()), notFound);
    await assert.rejects(world.api.get({ ...key, resource: 'leases' }, patience()), {
      reason: 'NotFound',
      message: `leases.coordination.k8s.io "${key.name}" not found`,
    });
  });

  test('an update with a version needs the newest one', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const labelled = (app: string) => ({ ...pod, metadata: { ...pod.metadata, labels: { app } } });
    const updated = await world.api.update(key, labelled('a'), patience());
    assert.ok(Number(updated.metadata.resourceVersion) > Number(pod.metadata.resourceVersion));
    await assert.rejects(world.api.update(key, labelled('b'), patience()), {
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on pods "${key.name}": the object has been modified; please apply your changes to the latest version and try again`,
    });
    const { resourceVersion: _, ...rest } = pod.metadata;
    const unconditional = { ...pod, metadata: { ...rest, labels: { app: 'c' } } };
    assert.deepEqual((await world.api.update(key, unconditional, patience())).metadata.labels, { app: 'c' });
  });

  test('an update with a uid is for that object only', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const other = { ...pod, metadata: { ...pod.metadata, uid: 'other' } };
    await assert.rejects(world.api.update(key, other, patience()), {
      reason: 'Conflict',
      message:
        `Operation cannot be fulfilled on pods "${key.name}": StorageError: invalid object, Code: 4, ` +
        `Key: /registry/pods/${key.namespace}/${key.name}, ResourceVersion: 0, AdditionalErrorMsg: ` +
        `Precondition failed: UID in precondition: other, UID in object meta: ${pod.metadata.uid}`,
    });
  });

  test('an update without a difference is not a change', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    assert.deepEqual(await world.api.update(key, pod, patience()), pod);
    assert.deepEqual(await world.api.patch(key, {}, {}, patience()), pod);
  });

  test('a change of the spec raises the generation, one of the metadata does not', async () => {
    const world = worldOf();
    const { key } = await createPod(world);
    const patched = async (patch: object) => (await world.api.patch(key, patch, {}, patience())).metadata.generation;
    assert.equal(await patched({ metadata: { labels: { a: '1' } } }), 1);
    assert.equal(await patched({ spec: { containers: [{ name: 'main', image: 'busybox:2' }] } }), 2);
  });

  test('an update without defaults gets them again', async () => {
    const world = worldOf();
    // Additions of an admission plugin are not defaults.
    const spec = { serviceAccountName: 'default', automountServiceAccountToken: false };
    const { key, pod } = await createPod(world, spec);
    assert.deepEqual(await world.api.update(key, podOf(world, key.name, spec), patience()), pod);
  });

  test('a lease is created by an update, and later needs its version', async () => {
    const world = worldOf();
    const name = freshName('lease');
    const key = { resource: 'leases', namespace: world.namespace, name } as const;
    const created = await world.api.update(key, leaseOf(world, name, 'box'), patience());
    assert.deepEqual([created.kind, created.spec.holderIdentity], ['Lease', 'box']);
    await assert.rejects(world.api.update(key, leaseOf(world, name, 'other'), patience()), {
      reason: 'Invalid',
      message: `leases.coordination.k8s.io "${name}" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
    });
    await world.api.delete(key, {}, patience());
    await assert.rejects(world.api.update(key, created, patience()), {
      reason: 'Conflict',
      message: /UID in object meta: $/,
    });
  });

  test('a node keeps the status that it is created with, and has no namespace', async (t) => {
    const { api } = worldOf();
    const key = { resource: 'nodes', namespace: '', name: freshName('node') } as const;
    const node = await api.create(key, nodeOf(key.name), patience());
    t.after(() => api.delete(key, {}, patience()));
    assert.deepEqual([node.metadata.namespace, node.status?.conditions?.[0]?.type], [undefined, 'Ready']);
    assert.deepEqual(node.status?.allocatable, { cpu: '2' });
  });

  test('stringData of a secret becomes data', async () => {
    const world = worldOf();
    const key = { resource: 'secrets', namespace: world.namespace, name: freshName('secret') } as const;
    const metadata = { name: key.name, namespace: key.namespace };
    const secret = await world.api.create(key, { metadata, data: { a: 'MQ==' }, stringData: { b: '2' } }, patience());
    assert.deepEqual([secret.data, secret.stringData, secret.type], [{ a: 'MQ==', b: 'Mg==' }, undefined, 'Opaque']);
  });

  test('an aborted call rejects with the reason of its signal', async () => {
    const aborted = AbortSignal.abort(new Error('enough'));
    await assert.rejects(worldOf().api.list({ resource: 'pods' }, aborted), { message: 'enough' });
  });
}
