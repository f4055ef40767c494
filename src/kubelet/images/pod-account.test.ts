import assert from 'node:assert/strict';
import test from 'node:test';
import type { ServiceAccount } from '../../api/generated/core-v1.ts';
import { ApiError } from '../api-client/api-server.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { TokenError } from '../tokens/pod-tokens.ts';
import { type AccountLookup, lookUpPodAccount, type TokenAttributes } from './pod-account.ts';

const never = new AbortController().signal;
const attributes: TokenAttributes = {
  audience: 'registry.example.com',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredAnnotations: [],
  optionalAnnotations: [],
};
const annotations = { team: 'a', region: 'here', other: 'x' };

/** A cluster with one service account, which records its requests. */
class Cluster {
  readonly asked: unknown[] = [];
  account: ServiceAccount | Error = { metadata: { name: 'builder', uid: 'sa-1', annotations } };
  token: string | Error = 'secret';
  readonly deps = {
    api: {
      get: async (key: unknown): Promise<never> => {
        this.asked.push(key);
        if (this.account instanceof Error) throw this.account;
        return this.account as never; // every requested object is an account here
      },
    },
    tokens: {
      token: async (...[{ metadata }, options]: [ReturnType<typeof examplePod>, object]): Promise<string> => {
        this.asked.push([metadata.uid, options]);
        if (this.token instanceof Error) throw this.token;
        return this.token;
      },
    },
  };

  find(change: Partial<TokenAttributes> = {}, serviceAccountName: string | undefined = 'builder') {
    const pod = examplePod({ metadata: { namespace: 'shop' }, spec: { serviceAccountName } });
    return lookUpPodAccount(pod, { ...attributes, ...change }, this.deps, never);
  }
}

function found(chosen: Readonly<Record<string, string>>): AccountLookup {
  return {
    kind: 'account',
    account: { uid: 'sa-1', namespace: 'shop', name: 'builder', annotations: chosen, token: 'secret' },
  };
}

const cases: Record<string, { change: Partial<TokenAttributes>; of?: string; is: AccountLookup }> = {
  'finds the account without its annotations': { change: {}, is: found({}) },
  'passes the requested annotations, sorted': {
    change: { requiredAnnotations: ['team'], optionalAnnotations: ['region'] },
    is: found({ region: 'here', team: 'a' }),
  },
  'accepts a missing optional annotation': { change: { optionalAnnotations: ['none'] }, is: found({}) },
  'skips the provider without a required annotation': {
    change: { requiredAnnotations: ['team', 'none'] },
    is: { kind: 'notAsked', why: 'required annotation none not found' },
  },
  'skips the provider without an account': {
    change: {},
    of: '',
    is: { kind: 'notAsked', why: 'Service account name is empty' },
  },
  'runs without an account if it is optional': {
    change: { requireServiceAccount: false },
    of: '',
    is: { kind: 'none' },
  },
  'uses the account even if it is optional': { change: { requireServiceAccount: false }, is: found({}) },
};

for (const [name, { change, of, is }] of Object.entries(cases)) {
  test(`lookUpPodAccount() ${name}`, async () => assert.deepEqual(await new Cluster().find(change, of), is));
}

test('lookUpPodAccount() requests a token of this account for the audience, bound to the pod', async () => {
  const cluster = new Cluster();
  await cluster.find();
  assert.deepEqual(cluster.asked, [
    { resource: 'serviceaccounts', namespace: 'shop', name: 'builder' },
    ['u1', { audience: 'registry.example.com', accountUid: 'sa-1' }],
  ]);
});

test('lookUpPodAccount() requests nothing for a pod without an account, and no token if the provider is skipped', async () => {
  const cluster = new Cluster();
  await cluster.find({ requireServiceAccount: false }, '');
  assert.deepEqual(cluster.asked, []);
  await cluster.find({ requiredAnnotations: ['none'] });
  assert.equal(cluster.asked.length, 1);
});

test('lookUpPodAccount() reports what is not available', async () => {
  const lost = Object.assign(new Cluster(), { account: new ApiError('Forbidden', 'no relationship found') });
  await assert.rejects(lost.find(), {
    name: 'ProviderError',
    message: 'failed to get service account: no relationship found',
  });
  const refused = Object.assign(new Cluster(), { token: new TokenError('failed to fetch token: not this audience') });
  await assert.rejects(refused.find(), {
    name: 'ProviderError',
    message: 'failed to get service account token: failed to fetch token: not this audience',
  });
});
