import assert from 'node:assert/strict';
import test from 'node:test';
import { type PulledFor, withPulledFor } from './merge-pull-record.ts';
import {
  decodeIntent,
  decodePulled,
  encodeIntent,
  encodePulled,
  type ImagePullCredentials,
  isRecordFile,
  recordFileName,
} from './pull-record.ts';

const secret = { uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' };
const record = {
  lastUpdatedTime: '2026-11-15T09:02:09Z',
  imageRef: 'sha256:1',
  credentialMapping: {
    app: { kubernetesSecrets: [secret] },
    other: { nodePodsAccessible: true },
    tool: { kubernetesServiceAccounts: [{ uid: 'u', namespace: 'n', name: 'a' }] },
  },
};

test('the records of pulls have kubelet’s format', () => {
  assert.equal(
    encodeIntent('busybox:1'),
    '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"busybox:1"}\n',
  );
  assert.equal(
    encodePulled(record),
    '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1",' +
      '"lastUpdatedTime":"2026-11-15T09:02:09Z","imageRef":"sha256:1","credentialMapping":{' +
      '"app":{"kubernetesSecrets":[{"uid":"u","namespace":"n","name":"s","credentialHash":"h"}]},' +
      '"other":{"nodePodsAccessible":true},' +
      '"tool":{"kubernetesServiceAccounts":[{"uid":"u","namespace":"n","name":"a"}]}}}\n',
  );
  assert.equal(recordFileName('busybox:1'), 'sha256-765f875080a9220ec3186dfc31b67b030c07e570665ba0e000bb9d17d5481cd5');
});

test('the records of pulls are read back, also those of the previous version', () => {
  assert.equal(decodeIntent(encodeIntent('a')), 'a');
  assert.deepEqual(decodePulled(encodePulled(record)), record);
  assert.deepEqual(decodePulled(encodePulled(record).replace('v1beta1', 'v1alpha1')), record);
});

const unreadable: Record<string, string> = {
  'no JSON': '{',
  'another kind': encodePulled(record).replace('ImagePulledRecord', 'ImagePullIntent'),
  'a version to come': encodePulled(record).replace('v1beta1', 'v2'),
  'an unknown field': encodePulled(record).replace('"imageRef"', '"x":1,"imageRef"'),
  'an unknown field of a Secret': encodePulled(record).replace('"uid"', '"x":1,"uid"'),
  'half a Secret': encodePulled(record).replace('"uid":"u",', ''),
  'a number for a reference': encodePulled(record).replace('"sha256:1"', '1'),
};

for (const [name, text] of Object.entries(unreadable)) {
  test(`decodePulled() rejects ${name}`, () => assert.equal(decodePulled(text), undefined));
}

test('isRecordFile() rejects leftovers of writes', () => {
  const name = recordFileName('a');
  assert.deepEqual([name, `${name}.tmp`, `.${name}.tmp`, 'README'].map(isRecordFile), [true, false, false, false]);
});

const everyPod: PulledFor = { kind: 'everyPod' };
const withSecret = (given: typeof secret): PulledFor => ({ kind: 'secret', secret: given });
const first = { ...secret, namespace: 'a' };
const account = { uid: 'u', namespace: 'n', name: 'a' };
const withAccount = (given: typeof account): PulledFor => ({ kind: 'serviceAccount', account: given });
const merges: Record<
  string,
  { known: ImagePullCredentials | undefined; pulledFor: PulledFor; gives: ImagePullCredentials | undefined }
> = {
  'a first Secret': { known: undefined, pulledFor: withSecret(secret), gives: { kubernetesSecrets: [secret] } },
  'a first one without credentials': { known: undefined, pulledFor: everyPod, gives: { nodePodsAccessible: true } },
  'every pod instead of a Secret': {
    known: { kubernetesSecrets: [secret] },
    pulledFor: everyPod,
    gives: { nodePodsAccessible: true },
  },
  'nothing if every pod has access': {
    known: { nodePodsAccessible: true },
    pulledFor: withSecret(secret),
    gives: undefined,
  },
  'nothing that is recorded': {
    known: { kubernetesSecrets: [secret] },
    pulledFor: withSecret(secret),
    gives: undefined,
  },
  'another Secret, by namespace and name': {
    known: { kubernetesSecrets: [secret] },
    pulledFor: withSecret(first),
    gives: { kubernetesSecrets: [first, secret] },
  },
  'the new login of a Secret': {
    known: { kubernetesSecrets: [secret] },
    pulledFor: withSecret({ ...secret, credentialHash: 'new' }),
    gives: { kubernetesSecrets: [{ ...secret, credentialHash: 'new' }] },
  },
  'a Secret beside service accounts, which stay': {
    known: { kubernetesServiceAccounts: [account] },
    pulledFor: withSecret(secret),
    gives: { kubernetesServiceAccounts: [account], kubernetesSecrets: [secret] },
  },
  'a first service account': {
    known: undefined,
    pulledFor: withAccount(account),
    gives: { kubernetesServiceAccounts: [account] },
  },
  'a service account beside Secrets, which stay': {
    known: { kubernetesSecrets: [secret] },
    pulledFor: withAccount(account),
    gives: { kubernetesSecrets: [secret], kubernetesServiceAccounts: [account] },
  },
  'another service account, by namespace and name': {
    known: { kubernetesServiceAccounts: [account] },
    pulledFor: withAccount({ ...account, namespace: 'a' }),
    gives: { kubernetesServiceAccounts: [{ ...account, namespace: 'a' }, account] },
  },
  'a service account with the name of another': {
    known: { kubernetesServiceAccounts: [account] },
    pulledFor: withAccount({ ...account, uid: 'new' }),
    gives: { kubernetesServiceAccounts: [{ ...account, uid: 'new' }, account] },
  },
  'no recorded service account': {
    known: { kubernetesServiceAccounts: [account] },
    pulledFor: withAccount(account),
    gives: undefined,
  },
  'every pod instead of a service account': {
    known: { kubernetesServiceAccounts: [account] },
    pulledFor: everyPod,
    gives: { nodePodsAccessible: true },
  },
};

for (const [name, { known, pulledFor, gives }] of Object.entries(merges)) {
  test(`withPulledFor() adds ${name}`, () => {
    const before = { lastUpdatedTime: 'then', imageRef: 'r', credentialMapping: known ? { app: known } : {} };
    const now = gives && { lastUpdatedTime: 'now', imageRef: 'r', credentialMapping: { app: gives } };
    assert.deepEqual(withPulledFor(before, 'app', pulledFor, 'now'), now);
  });
}
