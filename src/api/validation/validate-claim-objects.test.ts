import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeManifest } from '../decode/decode-manifest.ts';
import { formatFieldError } from './field-error.ts';
import { validateClaim } from './validate-claim.ts';
import { validatePersistentVolume } from './validate-persistent-volume.ts';

const META = 'apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}';
const GOOD = 'accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}';

function claimErrors(spec: string, meta = META): string[] {
  const { claims, errors } = decodeManifest(`{${meta}, spec: {${spec}}}`, { file: 'x.yaml' });
  assert.deepEqual(errors, []);
  return claims.flatMap(({ object }) => [...validateClaim(object)].map(formatFieldError));
}

const claims: readonly { readonly what: string; readonly spec: string; readonly errors: readonly string[] }[] = [
  { what: 'a usual claim', spec: GOOD, errors: [] },
  {
    what: 'nothing',
    spec: '',
    errors: [
      'spec.accessModes: Required value: at least 1 access mode is required',
      'spec.resources[storage]: Required value',
    ],
  },
  {
    what: 'an unknown access mode',
    spec: 'accessModes: [ReadWrite], resources: {requests: {storage: 1Gi}}',
    errors: [
      'spec.accessModes: Unsupported value: "ReadWrite": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    ],
  },
  {
    what: 'ReadWriteOncePod with others',
    spec: 'accessModes: [ReadWriteOncePod, ReadOnlyMany], resources: {requests: {storage: 1Gi}}',
    errors: ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
  },
  {
    what: 'no storage',
    spec: 'accessModes: [ReadWriteOnce], resources: {requests: {storage: 0}}',
    errors: ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
  },
  {
    what: 'a name that is no class, and an unknown mode',
    spec: `${GOOD}, storageClassName: Fast_1, volumeMode: Files`,
    errors: [
      "spec.storageClassName: Invalid value: \"Fast_1\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'spec.volumeMode: Unsupported value: "Files": supported values: "Block", "Filesystem"',
    ],
  },
  {
    what: 'selectors',
    spec: `${GOOD}, selector: {matchExpressions: [{key: a, operator: In}, {key: b, operator: Exists, values: [c]}, {key: d, operator: Like}]}`,
    errors: [
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      'spec.selector.matchExpressions[2].operator: Invalid value: "Like": not a valid selector operator',
    ],
  },
  {
    what: 'two data sources',
    spec: `${GOOD}, dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: b}`,
    errors: ['spec: Invalid value: spec.dataSource: must match dataSourceRef'],
  },
];

for (const { what, spec, errors } of claims) {
  test(`validateClaim(): ${what}`, () => assert.deepEqual(claimErrors(spec), errors));
}

test('validateClaim() wants a namespace and a name', () => {
  const meta = 'apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: "Data"}';
  const errors = claimErrors(GOOD, meta);
  assert.match(errors.join('\n'), /metadata\.name: Invalid value: "Data"/);
  assert.match(errors.join('\n'), /metadata\.namespace: Required value/);
});

function volumeErrors(spec: string): string[] {
  const meta = 'apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}';
  const { volumes, errors } = decodeManifest(`{${meta}, spec: {${spec}}}`, { file: 'x.yaml' });
  assert.deepEqual(errors, []);
  return volumes.flatMap(({ object }) => [...validatePersistentVolume(object)].map(formatFieldError));
}

const VOLUME = 'capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]';
const AFFINITY =
  'nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}';

const volumes: readonly { readonly what: string; readonly spec: string; readonly errors: readonly string[] }[] = [
  { what: 'a path of the host', spec: `${VOLUME}, hostPath: {path: /srv}`, errors: [] },
  { what: 'a local disk', spec: `${VOLUME}, local: {path: /mnt/disk}, ${AFFINITY}`, errors: [] },
  { what: 'a share', spec: `${VOLUME}, nfs: {server: files, path: /export}`, errors: [] },
  {
    what: 'nothing',
    spec: '',
    errors: [
      'spec.accessModes: Required value',
      'spec.capacity: Required value',
      'spec.capacity: Unsupported value: "": supported values: "storage"',
      'spec: Required value: must specify a volume type',
    ],
  },
  {
    what: 'a local disk without a node',
    spec: `${VOLUME}, local: {path: ../disk}`,
    errors: [
      'spec.local.path: Invalid value: "../disk": must not contain \'..\'',
      'spec.nodeAffinity: Required value: Local volume requires node affinity',
    ],
  },
  {
    what: 'two sources',
    spec: `${VOLUME}, hostPath: {path: /srv}, csi: {driver: d, volumeHandle: h}`,
    errors: ['spec.csi: Forbidden: may not specify more than 1 volume type'],
  },
  {
    what: 'a CSI volume without a handle',
    spec: `${VOLUME}, csi: {driver: "", volumeHandle: ""}`,
    errors: ['spec.csi.driver: Required value', 'spec.csi.volumeHandle: Required value'],
  },
  {
    what: 'a share without a server, and an unknown policy',
    spec: `${VOLUME}, nfs: {server: "", path: /export}, persistentVolumeReclaimPolicy: Keep`,
    errors: [
      'spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"',
      'spec.nfs.server: Required value',
    ],
  },
];

for (const { what, spec, errors } of volumes) {
  test(`validatePersistentVolume(): ${what}`, () => assert.deepEqual(volumeErrors(spec), errors));
}
