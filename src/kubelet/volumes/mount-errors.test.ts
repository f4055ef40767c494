import assert from 'node:assert/strict';
import test from 'node:test';
import type { PersistentVolumeSpec } from '../../api/generated/core-v1.ts';
import { unsupportedVolume } from './mount-errors.ts';

const volume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };

function messageOf(spec: PersistentVolumeSpec, mode: 'Filesystem' | 'Block' = 'Filesystem'): string {
  const metadata = { name: 'data', namespace: 'default' };
  const bound = { claim: { metadata, spec: {} }, volume: { metadata: { name: 'pv' }, spec } };
  return unsupportedVolume({ name: 'pv', volume, bound, readOnly: false, mode }).message;
}

test('unsupportedVolume() names the type of a persistent volume and its replacement', () => {
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], claimRef: {} };
  assert.equal(
    messageOf({ ...spec, awsElasticBlockStore: { volumeID: 'v' } }),
    'volume "data" is of type awsElasticBlockStore, which is replaced by the CSI driver ebs.csi.aws.com: use a PersistentVolumeClaim, whose volume the driver mounts',
  );
  assert.equal(
    messageOf({ ...spec, rbd: { image: 'i', monitors: [] } }),
    'volume "data" is of type rbd, which was removed from Kubernetes: use the CSI driver rbd.csi.ceph.com',
  );
});

test('unsupportedVolume() of a type without block volumes', () => {
  const message = messageOf({ nfs: { server: 's', path: '/' } }, 'Block');
  assert.equal(message, 'volume "data" is of type nfs, which has no block volumes');
});
