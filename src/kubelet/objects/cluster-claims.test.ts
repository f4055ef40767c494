import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { ClusterClaims } from './cluster-claims.ts';

const FOREVER = new AbortController().signal;
const CLAIM = { resource: 'persistentvolumeclaims', namespace: 'default', name: 'data' } as const;
const VOLUME = { resource: 'persistentvolumes', namespace: '', name: 'pv-1' } as const;

/** Changes to a claim and its volume; `null`: the object does not exist. */
interface Given {
  readonly claim?: Partial<PersistentVolumeClaim> | null;
  readonly finalizers?: readonly string[];
  readonly isDeleted?: boolean;
  readonly volume?: Partial<PersistentVolume['spec']> | null;
}

async function find({ claim = {}, finalizers, isDeleted = false, volume = {} }: Given) {
  const { clock, random } = createMemoryHost();
  const { direct } = createMemoryApiServer({ clock, random });
  let uid = '';
  if (claim) {
    const metadata = { name: 'data', namespace: 'default', ...(finalizers && { finalizers }) };
    const { spec = { volumeName: 'pv-1' }, status = { phase: 'Bound' } } = claim;
    await direct.create(CLAIM, { metadata, spec }, FOREVER);
    const created = await direct.patch(CLAIM, { status: { ...status } }, { subresource: 'status' }, FOREVER);
    uid = created.metadata.uid ?? '';
    if (isDeleted) await direct.delete(CLAIM, {}, FOREVER);
  }
  if (volume) {
    const claimRef = { namespace: 'default', name: 'data', uid };
    await direct.create(VOLUME, { metadata: { name: 'pv-1' }, spec: { claimRef, ...volume } }, FOREVER);
  }
  return { uid, found: new ClusterClaims(direct).find(examplePod({}), 'data', FOREVER) };
}

test('ClusterClaims finds the persistent volume of a bound claim', async () => {
  const { uid, found } = await find({});
  const { claim, volume } = await found;
  assert.deepEqual([claim.metadata.uid, volume.metadata.name], [uid, 'pv-1']);
});

test('ClusterClaims finds a claim that is being deleted, as long as it is protected', async () => {
  const { found } = await find({ finalizers: ['kubernetes.io/pvc-protection'], isDeleted: true });
  const { claim } = await found;
  assert.notEqual(claim.metadata.deletionTimestamp, undefined);
});

const errors: Record<string, Given> = {
  'failed to fetch PVC from API server: persistentvolumeclaims "data" not found': { claim: null },
  'PVC is being deleted': { finalizers: ['example.com/other'], isDeleted: true },
  'PVC is not bound': { claim: { status: { phase: 'Pending' } } },
  'PVC has empty pvc.Spec.VolumeName': { claim: { spec: {} } },
  'failed to fetch PV pv-1 from API server: persistentvolumes "pv-1" not found': { volume: null },
  'found PV object pv-1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim': {
    volume: { claimRef: undefined },
  },
};

for (const [message, given] of Object.entries(errors)) {
  test(`ClusterClaims fails with kubelet’s message: ${message}`, async () => {
    const { found } = await find(given);
    await assert.rejects(found, { message });
  });
}

test('ClusterClaims does not use the volume of another claim', async () => {
  const { uid, found } = await find({ volume: { claimRef: { uid: 'other' } } });
  const message = `found PV object pv-1 but its pv.Spec.ClaimRef.UID other does not point to claim.UID ${uid}`;
  await assert.rejects(found, { message });
});
