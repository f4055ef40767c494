import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
} from '../../api/generated/core-v1.ts';
import { bindClaim } from './bind-claim.ts';
import type { ClaimRecord } from './claim-record.ts';

function claim(spec: PersistentVolumeClaimSpec = {}, name = 'data'): PersistentVolumeClaim {
  const usual = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } } };
  return { metadata: { name, namespace: 'shop' }, spec: { ...usual, volumeMode: 'Filesystem', ...spec } };
}

function volume(
  name: string,
  storage: string,
  spec: PersistentVolumeSpec = {},
  labels: Readonly<Record<string, string>> = {},
): PersistentVolume {
  const usual = { accessModes: ['ReadWriteOnce'], capacity: { storage }, hostPath: { path: `/srv/${name}` } };
  return { metadata: { name, labels }, spec: { ...usual, ...spec } };
}

function record(volumeOfRecord: ClaimRecord['volume'], name = 'data'): ClaimRecord {
  return {
    namespace: 'shop',
    name,
    uid: `uid-${name}`,
    created: '2026-01-01T00:00:00Z',
    spec: claim().spec,
    volume: volumeOfRecord,
    usedBy: [],
  };
}

/** The name of the volume, `new` for a new directory, or the error. */
function bound(
  asked: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[] = [],
  records: readonly ClaimRecord[] = [],
): string {
  try {
    const binding = bindClaim(asked, { volumes, records });
    return binding.kind === 'manifest' ? binding.volume.metadata.name : 'new';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const RWO_RWX = ['ReadWriteOnce', 'ReadWriteMany'];
const SELECTOR = { matchLabels: { disk: 'ssd' } };
const TO_OTHER = { claimRef: { namespace: 'shop', name: 'other' } };
const TO_THIS = { claimRef: { namespace: 'shop', name: 'data' } };

const cases: Readonly<Record<string, [actual: string, expected: string]>> = {
  'no volume: a new directory': [bound(claim()), 'new'],
  'the class of the node: a new directory': [bound(claim({ storageClassName: 'nodelet-local' })), 'new'],
  'the smallest volume that is large enough': [
    bound(claim(), [volume('large', '100Gi'), volume('small', '1Gi'), volume('right', '6Gi')]),
    'right',
  ],
  'of equal volumes the first': [bound(claim(), [volume('a', '5Gi'), volume('b', '5Gi')]), 'a'],
  'sizes by value, not by their text': [bound(claim(), [volume('a', '5369Mi'), volume('b', '5242880Ki')]), 'b'],
  'fewer access modes before a smaller size': [
    bound(claim(), [volume('many', '5Gi', { accessModes: RWO_RWX }), volume('once', '50Gi')]),
    'once',
  ],
  'all access modes of the claim': [
    bound(claim({ accessModes: RWO_RWX }), [volume('once', '5Gi'), volume('both', '9Gi', { accessModes: RWO_RWX })]),
    'both',
  ],
  'not a volume that is too small': [bound(claim(), [volume('small', '4Gi')]), 'new'],
  'not a block volume': [bound(claim(), [volume('raw', '5Gi', { volumeMode: 'Block' })]), 'new'],
  'a block volume for a block claim': [
    bound(claim({ volumeMode: 'Block' }), [volume('files', '5Gi'), volume('raw', '5Gi', { volumeMode: 'Block' })]),
    'raw',
  ],
  'not a volume of another class': [bound(claim(), [volume('fast', '5Gi', { storageClassName: 'fast' })]), 'new'],
  'a volume of the class': [
    bound(claim({ storageClassName: 'fast' }), [
      volume('any', '5Gi'),
      volume('fast', '5Gi', { storageClassName: 'fast' }),
    ]),
    'fast',
  ],
  'the class of the annotation': [
    bound(
      {
        ...claim(),
        metadata: {
          name: 'data',
          namespace: 'shop',
          annotations: { 'volume.beta.kubernetes.io/storage-class': 'fast' },
        },
      },
      [volume('fast', '5Gi', { storageClassName: 'fast' })],
    ),
    'fast',
  ],
  'a volume that the selector matches': [
    bound(claim({ selector: SELECTOR }), [volume('hdd', '5Gi'), volume('ssd', '9Gi', {}, { disk: 'ssd' })]),
    'ssd',
  ],
  'not a volume that is reserved for another claim': [bound(claim(), [volume('theirs', '5Gi', TO_OTHER)]), 'new'],
  'the volume that is reserved for the claim, of any class': [
    bound(claim(), [volume('free', '5Gi'), volume('ours', '9Gi', { ...TO_THIS, storageClassName: 'fast' })]),
    'ours',
  ],
  'not a volume that is bound to another claim': [
    bound(claim(), [volume('disk', '5Gi')], [record({ kind: 'manifest', name: 'disk' }, 'other')]),
    'new',
  ],
  'the volume that it is bound to, though another one suits better now': [
    bound(claim(), [volume('better', '5Gi'), volume('disk', '50Gi')], [record({ kind: 'manifest', name: 'disk' })]),
    'disk',
  ],
  'its directory, though a volume suits now': [
    bound(claim(), [volume('disk', '5Gi')], [record({ kind: 'provisioned' })]),
    'new',
  ],
  'its directory, though it asks for another class now': [
    bound(claim({ storageClassName: 'fast' }), [], [record({ kind: 'provisioned' })]),
    'new',
  ],
  'the volume that it names': [bound(claim({ volumeName: 'b' }), [volume('a', '5Gi'), volume('b', '9Gi')]), 'b'],
  'a missing volume that it names': [
    bound(claim({ volumeName: 'b' }), [volume('a', '5Gi')]),
    'PersistentVolume "b" is not in the manifests',
  ],
  'a small volume that it names': [
    bound(claim({ volumeName: 'b' }), [volume('b', '1Gi')]),
    'Cannot bind to requested volume "b": requested PV is too small',
  ],
  'a volume of another class that it names': [
    bound(claim({ volumeName: 'b' }), [volume('b', '5Gi', { storageClassName: 'fast' })]),
    'Cannot bind to requested volume "b": storageClassName does not match',
  ],
  'a volume of another mode that it names': [
    bound(claim({ volumeName: 'b' }), [volume('b', '5Gi', { volumeMode: 'Block' })]),
    'Cannot bind to requested volume "b": incompatible volumeMode',
  ],
  'a volume with other access modes that it names': [
    bound(claim({ volumeName: 'b' }), [volume('b', '5Gi', { accessModes: ['ReadOnlyMany'] })]),
    'Cannot bind to requested volume "b": incompatible accessMode',
  ],
  'a reserved volume that it names': [
    bound(claim({ volumeName: 'b' }), [volume('b', '5Gi', TO_OTHER)]),
    'volume "b" already bound to a different claim.',
  ],
  'a taken volume that it names': [
    bound(claim({ volumeName: 'b' }), [volume('b', '5Gi')], [record({ kind: 'manifest', name: 'b' }, 'other')]),
    'volume "b" already bound to a different claim.',
  ],
  'another volume than it is bound to': [
    bound(claim({ volumeName: 'b' }), [volume('b', '5Gi')], [record({ kind: 'provisioned' })]),
    `PersistentVolumeClaim "data" is bound to PersistentVolume "pvc-uid-data" and names "b": release the first with 'nodelet volume rm shop/data'`,
  ],
  'a volume that left the manifests': [
    bound(claim(), [], [record({ kind: 'manifest', name: 'disk' })]),
    'PersistentVolume "disk", which PersistentVolumeClaim "data" is bound to, is not in the manifests',
  ],
  'a class that the node does not have': [
    bound(claim({ storageClassName: 'fast' })),
    'PersistentVolumeClaim "data" asks for StorageClass "fast", and a node without a cluster provides only "nodelet-local" and the PersistentVolumes of its manifests',
  ],
  'a volume without a class': [
    bound(claim({ storageClassName: '' })),
    'no persistent volumes available for this claim and no storage class is set',
  ],
  'a new block volume': [
    bound(claim({ volumeMode: 'Block' })),
    'PersistentVolumeClaim "data" asks for volumeMode Block, and a node without a cluster provides only directories',
  ],
  'a new volume with a selector': [
    bound(claim({ selector: SELECTOR })),
    'claim.Spec.Selector is not supported for dynamic provisioning on this node',
  ],
  'a new volume with content': [
    bound(claim({ dataSource: { kind: 'PersistentVolumeClaim', name: 'old' } })),
    'PersistentVolumeClaim "data" asks for the content of a data source, and a node without a cluster provides only empty directories',
  ],
};

for (const [what, [actual, expected]] of Object.entries(cases)) {
  test(`bindClaim(): ${what}`, () => assert.equal(actual, expected));
}
