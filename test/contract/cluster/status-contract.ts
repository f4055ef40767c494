import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiWorld, createPod, freshName, nodeOf, patience } from './api-world.ts';

export function statusContract(worldOf: () => ApiWorld): void {
  test('the status of a pod changes only through its subresource', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const patch = { metadata: { labels: { a: '1' } }, status: { phase: 'Running' } };
    const patched = await world.api.patch(key, patch, {}, patience());
    assert.deepEqual([patched.metadata.labels, patched.status?.phase], [{ a: '1' }, 'Pending']);
    const updated = await world.api.update(key, { ...patched, status: { phase: 'Running' } }, patience());
    assert.deepEqual(updated.status, pod.status);
  });

  test('a status write of a pod changes only the status, labels and annotations', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'box', uid: 'u1' };
    const patched = await world.api.patch(
      key,
      {
        metadata: { annotations: { seen: 'yes' }, ownerReferences: [owner], generation: 7 },
        spec: { nodeName: 'elsewhere' },
        status: { phase: 'Running', qosClass: null },
      },
      { subresource: 'status' },
      patience(),
    );
    assert.deepEqual(patched, {
      ...pod,
      metadata: {
        ...pod.metadata,
        annotations: { seen: 'yes' },
        resourceVersion: patched.metadata.resourceVersion,
      },
      status: { ...pod.status, phase: 'Running' },
    });
  });

  test('a patch of conditions keeps those of other writers', async () => {
    const world = worldOf();
    const { key } = await createPod(world);
    const patched = async (conditions: object[]) => {
      const pod = await world.api.patch(key, { status: { conditions } }, { subresource: 'status' }, patience());
      return pod.status?.conditions?.map(({ type, status }) => `${type} ${status}`);
    };
    await patched([{ type: 'PodScheduled', status: 'True' }]);
    assert.deepEqual(await patched([{ type: 'Ready', status: 'False' }]), ['Ready False', 'PodScheduled True']);
    assert.deepEqual(await patched([{ type: 'Ready', status: 'True' }]), ['Ready True', 'PodScheduled True']);
    assert.deepEqual(await patched([{ $patch: 'delete', type: 'Ready' }]), ['PodScheduled True']);
  });

  test('an observed generation is never reset', async () => {
    const world = worldOf();
    const { key } = await createPod(world);
    const seen = async (observedGeneration: number | null) => {
      const conditions = [{ type: 'Ready', status: 'True', observedGeneration }];
      const patch = { status: { observedGeneration, conditions } };
      const { status } = await world.api.patch(key, patch, { subresource: 'status' }, patience());
      return [status?.observedGeneration, status?.conditions?.[0]?.observedGeneration];
    };
    assert.deepEqual(await seen(1), [1, 1]);
    assert.deepEqual(await seen(null), [1, 1]);
  });

  test('a patch with a uid or version is for that object and version only', async () => {
    const world = worldOf();
    const { key, pod } = await createPod(world);
    const { uid, resourceVersion } = pod.metadata;
    const patch = (metadata: object, phase: string) =>
      world.api.patch(key, { metadata, status: { phase } }, { subresource: 'status' }, patience());
    assert.equal((await patch({ uid, resourceVersion }, 'Running')).status?.phase, 'Running');
    await assert.rejects(patch({ uid: 'other' }, 'Failed'), {
      reason: 'Invalid',
      message: `Pod "${key.name}" is invalid: metadata.uid: Invalid value: "other": field is immutable`,
    });
    await assert.rejects(patch({ resourceVersion }, 'Failed'), { reason: 'Conflict', message: /has been modified/ });
  });

  test('a status write of a node changes annotations but not the spec', async (t) => {
    const { api } = worldOf();
    const key = { resource: 'nodes', namespace: '', name: freshName('node') } as const;
    const node = await api.create(key, nodeOf(key.name), patience());
    t.after(() => api.delete(key, {}, patience()));
    const patch = {
      metadata: { annotations: { a: '1' } },
      spec: { unschedulable: true },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    };
    const patched = await api.patch(key, patch, { subresource: 'status' }, patience());
    assert.deepEqual(
      [patched.metadata.annotations, patched.spec.unschedulable, patched.status?.conditions?.[0]?.status],
      [{ a: '1' }, undefined, 'True'],
    );
    const tainted = { ...patched, spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] }, status: {} };
    const updated = await api.update(key, tainted, patience());
    assert.deepEqual([updated.spec.taints?.[0]?.key, updated.status], ['k', patched.status]);
    assert.equal(node.metadata.uid, updated.metadata.uid);
  });

  test('a resource without a status has no such path', async () => {
    const world = worldOf();
    const key = { resource: 'configmaps', namespace: world.namespace, name: 'any' } as const;
    await assert.rejects(world.api.patch(key, {}, { subresource: 'status' }, patience()), {
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
    });
  });
}
