import assert from 'node:assert/strict';
import test from 'node:test';
import {
  type CredentialMatch,
  type ImageAccessDecision,
  matchPodCredentials,
  decideImageAccess,
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

const first: Record<string, { evidence: PullEvidence; policy: VerificationPolicy; image?: string; is: ImageAccessDecision }> =
  {
    'lets everybody use what was there before': { evidence: { kind: 'none' }, policy: PRELOADED, is: use },
    'has a pull prove what was only begun': { evidence: { kind: 'intent' }, policy: PRELOADED, is: pull },
    'has a pull prove what was pulled under another name': {
      evidence: pulled(forSecret, 'registry.io/other'),
      policy: PRELOADED,
      is: pull,
    },
    'has a pull prove what was pulled for nobody knows whom': { evidence: pulled({}), policy: PRELOADED, is: pull },
    'asks for the service account of the pod': {
      evidence: pulled(forAccount),
      policy: PRELOADED,
      is: { kind: 'compare', known: forAccount },
    },
    'lets everybody use what needed no credentials': {
      evidence: pulled({ nodePodsAccessible: true }),
      policy: PRELOADED,
      is: use,
    },
    'asks for the Secrets of the pod': { evidence: pulled(forSecret), policy: PRELOADED, is: compare },
    'does not look at the tag': {
      evidence: pulled(forSecret),
      policy: PRELOADED,
      image: 'registry.io/app:2@sha256:0123',
      is: compare,
    },
    'trusts nothing that cannot be read': { evidence: { kind: 'unreadable' }, policy: NEVER, is: pull },
    'never verifies when told so': { evidence: pulled(forSecret), policy: NEVER, is: use },
    'always verifies when told so': { evidence: { kind: 'none' }, policy: ALWAYS, is: pull },
    'and remembers then too': { evidence: pulled({ nodePodsAccessible: true }), policy: ALWAYS, is: use },
    'lets everybody use what is listed': {
      evidence: pulled(forSecret),
      policy: allowing('registry.io/app'),
      is: use,
    },
    'lets everybody use what is below a listed prefix': {
      evidence: pulled(forSecret),
      policy: allowing('registry.io/*'),
      is: use,
    },
    'verifies what is not listed, also when it was there before': {
      evidence: { kind: 'none' },
      policy: allowing('registry.io/ap', 'other.io/*'),
      is: pull,
    },
  };

for (const [name, { evidence, policy, image = 'registry.io/app:1', is }] of Object.entries(first)) {
  test(`judgePresentImage() ${name}`, () => {
    assert.deepEqual(decideImageAccess(image, evidence, policy), is);
  });
}

const other = { ...secret, name: 'other' };
const changed = { ...secret, credentialHash: 'new' };
const crowd = Array.from({ length: 100 }, (_, index) => ({ ...secret, uid: `u${index}`, credentialHash: `h${index}` }));

const second: Record<string, { known: ImagePullSecret[]; ofPod: ImagePullSecret[]; is: CredentialMatch }> = {
  'knows the Secret': { known: [secret], ofPod: [secret], is: { kind: 'use' } },
  'knows the login from another Secret': {
    known: [secret],
    ofPod: [other],
    is: { kind: 'useAndRemember', secret: other },
  },
  'takes the new login of a Secret that was good': {
    known: [secret],
    ofPod: [changed],
    is: { kind: 'useAndRemember', secret: changed },
  },
  'looks at every Secret of the pod': {
    known: [secret],
    ofPod: [{ ...other, credentialHash: 'x' }, secret],
    is: { kind: 'use' },
  },
  'does not take another login of another Secret': {
    known: [secret],
    ofPod: [{ ...other, credentialHash: 'x' }],
    is: { kind: 'pull' },
  },
  'does not take a login that has no hash': {
    known: [{ ...secret, credentialHash: '' }],
    ofPod: [{ ...other, credentialHash: '' }],
    is: { kind: 'pull' },
  },
  'does not take a pod without any': { known: [secret], ofPod: [], is: { kind: 'pull' } },
  'remembers no more than a hundred': {
    known: crowd,
    ofPod: [{ ...other, credentialHash: 'h5' }],
    is: { kind: 'use' },
  },
  'takes no new login when there is no room for it': {
    known: crowd,
    ofPod: [{ ...secret, uid: 'u5', credentialHash: 'new' }],
    is: { kind: 'pull' },
  },
};

for (const [name, { known, ofPod, is }] of Object.entries(second)) {
  test(`judgePodCredentials() ${name}`, () => {
    const presented = ofPod.map((each) => ({ kind: 'secret', secret: each }) as const);
    assert.deepEqual(matchPodCredentials({ kubernetesSecrets: known }, presented), is);
  });
}

const byAccount = (given: ImagePullServiceAccount): PulledFor => ({ kind: 'serviceAccount', account: given });
const bySecret: PulledFor = { kind: 'secret', secret: { ...secret, name: 'other', credentialHash: 'x' } };
const both = { ...forSecret, ...forAccount };

const third: Record<string, { known: ImagePullCredentials; ofPod: PulledFor[]; is: CredentialMatch }> = {
  'knows the service account': { known: forAccount, ofPod: [byAccount(account)], is: { kind: 'use' } },
  'knows it beside Secrets': { known: both, ofPod: [bySecret, byAccount(account)], is: { kind: 'use' } },
  'does not take one of another namespace': {
    known: forAccount,
    ofPod: [byAccount({ ...account, namespace: 'other' })],
    is: { kind: 'pull' },
  },
  'does not take one that has got the name since': {
    known: forAccount,
    ofPod: [byAccount({ ...account, uid: 'new' })],
    is: { kind: 'pull' },
  },
  'does not take a Secret of the same name': {
    known: forAccount,
    ofPod: [{ kind: 'secret', secret: { ...account, credentialHash: 'h' } }],
    is: { kind: 'pull' },
  },
  'does not take what is the node’s': { known: both, ofPod: [{ kind: 'everyPod' }], is: { kind: 'pull' } },
};

for (const [name, { known, ofPod, is }] of Object.entries(third)) {
  test(`judgePodCredentials() ${name}`, () => assert.deepEqual(matchPodCredentials(known, ofPod), is));
}
