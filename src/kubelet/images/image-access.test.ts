import assert from 'node:assert/strict';
import test from 'node:test';
import {
  type CredentialMatch,
  decideImageAccess,
  type ImageAccessDecision,
  matchPodCredentials,
  type PullEvidence,
  type VerificationPolicy,
} from './image-access.ts';
import type { PulledFor } from './merge-pull-record.ts';
import type { ImagePullCredentials, ImagePullSecret, ImagePullServiceAccount } from './pull-record.ts';

const secret: ImagePullSecret = { uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' };
const forSecret: ImagePullCredentials = { kubernetesSecrets: [secret] };
const account: ImagePullServiceAccount = { uid: 'u', namespace: 'n', name: 'a' };
const forAccount: ImagePullCredentials = { kubernetesServiceAccounts: [account] };

function pulled(known: ImagePullCredentials | undefined, name = 'registry.io/app'): PullEvidence {
  const credentialMapping = known ? { [name]: known } : {};
  return { kind: 'pulled', record: { lastUpdatedTime: '', imageRef: 'sha256:1', credentialMapping } };
}

const PRELOADED: VerificationPolicy = { kind: 'NeverVerifyPreloadedImages' };
const ALWAYS: VerificationPolicy = { kind: 'AlwaysVerify' };
const NEVER: VerificationPolicy = { kind: 'NeverVerify' };
const allowing = (...allowlist: string[]): VerificationPolicy => ({ kind: 'NeverVerifyAllowlistedImages', allowlist });
const use: ImageAccessDecision = { kind: 'use' };
const pull: ImageAccessDecision = { kind: 'pull' };
const compare: ImageAccessDecision = { kind: 'compare', known: forSecret };

const first: Record<
  string,
  { evidence: PullEvidence; policy: VerificationPolicy; image?: string; is: ImageAccessDecision }
> = {
  'allows every pod to use a preloaded image': { evidence: { kind: 'none' }, policy: PRELOADED, is: use },
  'requires a pull after an intent': { evidence: { kind: 'intent' }, policy: PRELOADED, is: pull },
  'requires a pull after a pull under another name': {
    evidence: pulled(forSecret, 'registry.io/other'),
    policy: PRELOADED,
    is: pull,
  },
  'requires a pull after a pull without credentials in its record': {
    evidence: pulled({}),
    policy: PRELOADED,
    is: pull,
  },
  'compares the service account of the pod': {
    evidence: pulled(forAccount),
    policy: PRELOADED,
    is: { kind: 'compare', known: forAccount },
  },
  'allows every pod to use an image that needed no credentials': {
    evidence: pulled({ nodePodsAccessible: true }),
    policy: PRELOADED,
    is: use,
  },
  'compares the Secrets of the pod': { evidence: pulled(forSecret), policy: PRELOADED, is: compare },
  'ignores the tag': {
    evidence: pulled(forSecret),
    policy: PRELOADED,
    image: 'registry.io/app:2@sha256:0123',
    is: compare,
  },
  'requires a pull after an unreadable record': { evidence: { kind: 'unreadable' }, policy: NEVER, is: pull },
  'never verifies with that policy': { evidence: pulled(forSecret), policy: NEVER, is: use },
  'always verifies with that policy': { evidence: { kind: 'none' }, policy: ALWAYS, is: pull },
  'compares credentials with that policy too': {
    evidence: pulled({ nodePodsAccessible: true }),
    policy: ALWAYS,
    is: use,
  },
  'allows every pod to use a listed image': {
    evidence: pulled(forSecret),
    policy: allowing('registry.io/app'),
    is: use,
  },
  'allows every pod to use an image below a listed prefix': {
    evidence: pulled(forSecret),
    policy: allowing('registry.io/*'),
    is: use,
  },
  'verifies an image that is not listed, even if it was preloaded': {
    evidence: { kind: 'none' },
    policy: allowing('registry.io/ap', 'other.io/*'),
    is: pull,
  },
};

for (const [name, { evidence, policy, image = 'registry.io/app:1', is }] of Object.entries(first)) {
  test(`decideImageAccess() ${name}`, () => {
    assert.deepEqual(decideImageAccess(image, evidence, policy), is);
  });
}

const other = { ...secret, name: 'other' };
const changed = { ...secret, credentialHash: 'new' };
const crowd = Array.from({ length: 100 }, (_, index) => ({ ...secret, uid: `u${index}`, credentialHash: `h${index}` }));

const second: Record<string, { known: ImagePullSecret[]; ofPod: ImagePullSecret[]; is: CredentialMatch }> = {
  'accepts the Secret': { known: [secret], ofPod: [secret], is: { kind: 'use' } },
  'accepts the same login in another Secret': {
    known: [secret],
    ofPod: [other],
    is: { kind: 'useAndRemember', secret: other },
  },
  'accepts the new login of a recorded Secret': {
    known: [secret],
    ofPod: [changed],
    is: { kind: 'useAndRemember', secret: changed },
  },
  'checks every Secret of the pod': {
    known: [secret],
    ofPod: [{ ...other, credentialHash: 'x' }, secret],
    is: { kind: 'use' },
  },
  'rejects another login of another Secret': {
    known: [secret],
    ofPod: [{ ...other, credentialHash: 'x' }],
    is: { kind: 'pull' },
  },
  'rejects a login without a hash': {
    known: [{ ...secret, credentialHash: '' }],
    ofPod: [{ ...other, credentialHash: '' }],
    is: { kind: 'pull' },
  },
  'rejects a pod without credentials': { known: [secret], ofPod: [], is: { kind: 'pull' } },
  'records no more than a hundred': {
    known: crowd,
    ofPod: [{ ...other, credentialHash: 'h5' }],
    is: { kind: 'use' },
  },
  'rejects a new login if there is no room for it': {
    known: crowd,
    ofPod: [{ ...secret, uid: 'u5', credentialHash: 'new' }],
    is: { kind: 'pull' },
  },
};

for (const [name, { known, ofPod, is }] of Object.entries(second)) {
  test(`matchPodCredentials() ${name}`, () => {
    const presented = ofPod.map((each) => ({ kind: 'secret', secret: each }) as const);
    assert.deepEqual(matchPodCredentials({ kubernetesSecrets: known }, presented), is);
  });
}

const byAccount = (given: ImagePullServiceAccount): PulledFor => ({ kind: 'serviceAccount', account: given });
const bySecret: PulledFor = { kind: 'secret', secret: { ...secret, name: 'other', credentialHash: 'x' } };
const both = { ...forSecret, ...forAccount };

const third: Record<string, { known: ImagePullCredentials; ofPod: PulledFor[]; is: CredentialMatch }> = {
  'accepts the service account': { known: forAccount, ofPod: [byAccount(account)], is: { kind: 'use' } },
  'accepts it beside Secrets': { known: both, ofPod: [bySecret, byAccount(account)], is: { kind: 'use' } },
  'rejects one of another namespace': {
    known: forAccount,
    ofPod: [byAccount({ ...account, namespace: 'other' })],
    is: { kind: 'pull' },
  },
  'rejects one that was created again with the same name': {
    known: forAccount,
    ofPod: [byAccount({ ...account, uid: 'new' })],
    is: { kind: 'pull' },
  },
  'rejects a Secret of the same name': {
    known: forAccount,
    ofPod: [{ kind: 'secret', secret: { ...account, credentialHash: 'h' } }],
    is: { kind: 'pull' },
  },
  'rejects the node’s logins': { known: both, ofPod: [{ kind: 'everyPod' }], is: { kind: 'pull' } },
};

for (const [name, { known, ofPod, is }] of Object.entries(third)) {
  test(`matchPodCredentials() ${name}`, () => assert.deepEqual(matchPodCredentials(known, ofPod), is));
}
