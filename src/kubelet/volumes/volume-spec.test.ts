import assert from 'node:assert/strict';
import test from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { resolveVolume } from './volume-spec.ts';

const signal = new AbortController().signal;
const pod = examplePod({});
const { namespace, name: podName, uid } = pod.metadata;

function claimOf(more: Partial<PersistentVolumeClaim['metadata']> = {}): PersistentVolumeClaim {
  return { metadata: { name: 'data', namespace, uid: 'c1', ...more }, spec: {}, status: { phase: 'Bound' } };
}

function volumeOf(volumeMode?: string): PersistentVolume {
  return { metadata: { name: 'pv-1' }, spec: { volumeMode, csi: { driver: 'd', volumeHandle: 'h' } } };
}

async function resolve(volume: Volume, claim = claimOf(), pv = volumeOf(), use = { isMounted: true, isDevice: false }) {
  const asked: string[] = [];
  const claims = {
    wakesPods: true,
    find: async ({ metadata }: Pod, name: string) => {
      asked.push(`${metadata.namespace}/${name}`);
      return { claim, volume: pv };
    },
  };
  const { name, readOnly, mode, bound } = await resolveVolume(pod, volume, use, claims, signal);
  return { asked, name, readOnly, mode, hasClaim: bound !== undefined };
}

test('resolveVolume() leaves a volume without a claim as it is', async () => {
  const found = await resolve({ name: 'scratch', emptyDir: {} });
  assert.deepEqual(found, { asked: [], name: 'scratch', readOnly: false, mode: 'Filesystem', hasClaim: false });
});

test('resolveVolume() names the volume of a claim after its persistent volume', async () => {
  const found = await resolve({ name: 'disk', persistentVolumeClaim: { claimName: 'data', readOnly: true } });
  const expected = { name: 'pv-1', readOnly: true, mode: 'Filesystem', hasClaim: true };
  assert.deepEqual(found, { asked: [`${namespace}/data`], ...expected });
});

test('resolveVolume() uses the claim that was made for a generic ephemeral volume', async () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true };
  const claim = claimOf({ ownerReferences: [owner] });
  const found = await resolve({ name: 'scratch', ephemeral: {} }, claim);
  assert.deepEqual(found.asked, [`${namespace}/${podName}-scratch`]);
});

test('resolveVolume() refuses the claim of another owner for a generic ephemeral volume', async () => {
  const message = `PVC ${namespace}/data was not created for pod ${namespace}/${podName} (pod is not owner)`;
  await assert.rejects(resolve({ name: 'scratch', ephemeral: {} }), { message });
});

const wrongModes = {
  'volume disk has volumeMode Block, but is specified in volumeMounts': {
    mode: 'Block',
    use: { isMounted: true, isDevice: false },
  },
  'volume disk has volumeMode Filesystem, but is specified in volumeDevices': {
    mode: 'Filesystem',
    use: { isMounted: false, isDevice: true },
  },
};

for (const [message, { mode, use }] of Object.entries(wrongModes)) {
  test(`resolveVolume() fails: ${message}`, async () => {
    const volume = { name: 'disk', persistentVolumeClaim: { claimName: 'data' } };
    await assert.rejects(resolve(volume, claimOf(), volumeOf(mode), use), { message });
  });
}

test('resolveVolume() names the claim that is not ready, and its error', async () => {
  const claims = { wakesPods: true, find: async () => Promise.reject(new Error('PVC is not bound')) };
  const volume = { name: 'disk', persistentVolumeClaim: { claimName: 'data' } };
  await assert.rejects(resolveVolume(pod, volume, { isMounted: true, isDevice: false }, claims, signal), {
    message: `error processing PVC ${namespace}/data: PVC is not bound`,
    podCause: { kind: 'claimNotReady', claim: 'data', error: 'PVC is not bound' },
  });
});
