/** Credential providers that get the service accounts of pods. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { type LogFields, silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { ServiceAccountTokens } from '../tokens/service-account-tokens.ts';
import { CredentialProvider, type ProviderSpec } from './credential-provider.ts';
import type { TokenAttributes } from './pod-account.ts';

const VERSION = 'credentialprovider.kubelet.k8s.io/v1';
const REPOSITORY = 'registry.example.com/app';
const never = new AbortController().signal;
const ATTRIBUTES: TokenAttributes = {
  audience: 'registry.example.com',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredAnnotations: [],
  optionalAnnotations: [],
};
const SPEC: ProviderSpec = {
  name: 'shop',
  program: '/opt/shop',
  args: [],
  env: {},
  matchImages: ['*.example.com'],
  defaultCacheMs: 3_600_000,
  apiVersion: VERSION,
};

interface Request {
  readonly serviceAccountToken?: string;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

/** A node of an in-memory cluster, with a provider whose response names the requester. */
class Node {
  readonly host = createMemoryHost();
  readonly random = new SeededRandom(1);
  readonly api = createMemoryApiServer({ clock: this.host.clock, random: this.random });
  readonly requests: Request[] = [];
  readonly logged: LogFields[] = [];
  passwordOf = (_: Request): string => 'p';
  readonly provider: CredentialProvider;

  constructor(change: Partial<TokenAttributes> = {}) {
    const { host, api, random } = this;
    host.processes.install('/opt/shop', async ({ input, stdout }) => {
      const request: Request = JSON.parse(new TextDecoder().decode(input));
      this.requests.push(request);
      const auth = { 'registry.example.com': { username: 'u', password: this.passwordOf(request) } };
      stdout(JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion: VERSION, cacheKeyType: 'Image', auth }));
      return 0;
    });
    const error = (_: string, fields: LogFields = {}): void => void this.logged.push(fields);
    const log = { ...silentLog, error };
    const tokens = new ServiceAccountTokens({ ...host, random, api, log, onChange: () => {} }, never);
    const spec = { ...SPEC, tokenAttributes: { ...ATTRIBUTES, ...change } };
    this.provider = new CredentialProvider(spec, { ...host, log, accounts: { api, tokens } }, never);
  }

  async account(name: string, annotations: Record<string, string> = {}): Promise<string> {
    const key = { resource: 'serviceaccounts', namespace: 'shop', name } as const;
    const { metadata } = await this.api.direct.create(key, { metadata: { name, annotations } }, never);
    return metadata.uid ?? '';
  }

  pod(name: string, serviceAccountName?: string): Promise<Pod> {
    const key = { resource: 'pods', namespace: 'shop', name } as const;
    const metadata = { name, namespace: 'shop', uid: '' };
    const spec = { containers: [{ name: 'main', image: `${REPOSITORY}:1` }], serviceAccountName };
    return this.api.direct.create(key, { metadata, spec }, never);
  }

  async ask(pod: Pod) {
    const { config, owner } = await this.provider.logins(REPOSITORY, pod, never);
    return { passwords: [...config.values()].map(({ password }) => password), owner };
  }
}

function claimsOf(token = ''): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

test('a provider gets the token of the account, for its audience and bound to the pod, and the annotations', async () => {
  const node = new Node({ requiredAnnotations: ['team'] });
  const uid = await node.account('builder', { team: 'a', other: 'x' });
  const pod = await node.pod('web', 'builder');
  const owner = { kind: 'serviceAccount', account: { uid, namespace: 'shop', name: 'builder' } };
  assert.deepEqual(await node.ask(pod), { passwords: ['p'], owner });
  const [request = assert.fail('not asked')] = node.requests;
  assert.deepEqual(
    { ...request, serviceAccountToken: '' },
    {
      kind: 'CredentialProviderRequest',
      apiVersion: VERSION,
      image: REPOSITORY,
      serviceAccountToken: '',
      serviceAccountAnnotations: { team: 'a' },
    },
  );
  const { aud, sub, 'kubernetes.io': bound } = claimsOf(request.serviceAccountToken);
  assert.deepEqual([aud, sub], [['registry.example.com'], 'system:serviceaccount:shop:builder']);
  assert.deepEqual(Object(bound).pod, { name: 'web', uid: pod.metadata.uid });
});

const shared: Record<string, { cacheType: TokenAttributes['cacheType']; asked: number }> = {
  'is cached for every pod of the account': { cacheType: 'ServiceAccount', asked: 2 },
  'is cached for one token': { cacheType: 'Token', asked: 3 },
};

for (const [name, { cacheType, asked }] of Object.entries(shared)) {
  test(`a response ${name}`, async () => {
    const node = new Node({ cacheType });
    await node.account('builder');
    await node.account('runner');
    const [one, two, other] = [
      await node.pod('one', 'builder'),
      await node.pod('two', 'builder'),
      await node.pod('other', 'runner'),
    ];
    for (const pod of [one, one, two, two, other, other]) await node.ask(pod);
    assert.equal(node.requests.length, asked);
  });
}

test('a response is not used for another account of the same name, nor for other annotations', async () => {
  const node = new Node({ optionalAnnotations: ['team'] });
  const key = { resource: 'serviceaccounts', namespace: 'shop', name: 'builder' } as const;
  const first = await node.account('builder');
  const pod = await node.pod('web', 'builder');
  await node.ask(pod);
  await node.api.direct.patch(key, { metadata: { annotations: { team: 'a' } } }, {}, never);
  await node.ask(pod);
  await node.api.direct.delete(key, {}, never);
  const second = await node.account('builder', { team: 'a' });
  const { owner } = await node.ask(pod);
  assert.deepEqual(owner, { kind: 'serviceAccount', account: { uid: second, namespace: 'shop', name: 'builder' } });
  assert.notEqual(first, second);
  assert.deepEqual(
    node.requests.map(({ serviceAccountAnnotations }) => serviceAccountAnnotations),
    [undefined, { team: 'a' }, { team: 'a' }],
  );
});

test('a provider that requires an account does not run for a pod without one', async () => {
  const node = new Node();
  assert.deepEqual(await node.ask(await node.pod('static')), { passwords: [], owner: { kind: 'node' } });
  assert.deepEqual([node.requests, node.logged], [[], []]);
});

test('a provider with an optional account runs without one, and its response applies to every pod', async () => {
  const node = new Node({ requireServiceAccount: false });
  assert.deepEqual(await node.ask(await node.pod('static')), { passwords: ['p'], owner: { kind: 'node' } });
  assert.deepEqual(node.requests, [{ kind: 'CredentialProviderRequest', apiVersion: VERSION, image: REPOSITORY }]);
  await node.account('builder');
  const { owner } = await node.ask(await node.pod('web', 'builder'));
  assert.equal(owner.kind, 'serviceAccount');
  assert.equal(node.requests.length, 2, 'what was kept for every pod is not the account’s');
});

test('a provider does not run without a required annotation, and nothing is logged as an error', async () => {
  const node = new Node({ requiredAnnotations: ['team'] });
  await node.account('builder');
  assert.deepEqual((await node.ask(await node.pod('web', 'builder'))).passwords, []);
  assert.deepEqual([node.requests, node.logged], [[], []]);
});

test('a token as the password is rejected if it would be cached for others', async () => {
  const node = new Node();
  node.passwordOf = ({ serviceAccountToken = '' }) => serviceAccountToken;
  await node.account('builder');
  assert.deepEqual((await node.ask(await node.pod('web', 'builder'))).passwords, []);
  const [{ error } = assert.fail('nothing is said')] = node.logged;
  assert.equal(
    Object(error).message,
    "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
  );
});

test('a token as the password is accepted if it is cached per token', async () => {
  const node = new Node({ cacheType: 'Token' });
  node.passwordOf = ({ serviceAccountToken = '' }) => serviceAccountToken;
  await node.account('builder');
  const { passwords } = await node.ask(await node.pod('web', 'builder'));
  assert.deepEqual(passwords, [node.requests[0]?.serviceAccountToken]);
});

test('an error is logged with the pod and its account, and the provider does not run', async () => {
  const node = new Node();
  const pod = await node.pod('web', 'builder');
  assert.deepEqual((await node.ask(pod)).passwords, []);
  await node.account('builder');
  node.api.faults.next('createToken', { kind: 'before', error: new ApiError('Forbidden', 'not this audience') });
  assert.deepEqual((await node.ask(pod)).passwords, []);
  const fields = {
    provider: 'shop',
    image: REPOSITORY,
    pod: 'shop/web',
    podUID: pod.metadata.uid,
    serviceAccount: 'shop/builder',
  };
  assert.deepEqual(
    node.logged.map(({ error, ...rest }) => [Object(error).message, rest]),
    [
      ['failed to get service account: serviceaccounts "builder" not found', fields],
      ['failed to get service account token: failed to fetch token: not this audience', fields],
    ],
  );
  assert.deepEqual(node.requests, []);
});

test('a caller can abort the account lookup', async () => {
  const node = new Node();
  const gone = new AbortController();
  node.api.faults.next('get', { kind: 'hang' });
  const asked = node.provider.logins(REPOSITORY, await node.pod('web', 'builder'), gone.signal);
  gone.abort(new Error('gone'));
  await assert.rejects(asked, { message: 'gone' });
  assert.deepEqual(node.logged, []);
});
