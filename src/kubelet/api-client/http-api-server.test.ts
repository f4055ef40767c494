import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import type { RateLimit } from '../../base/token-bucket.ts';
import type { MemoryHttpHandler, MemoryRequest } from '../../host/fake/memory-exchange.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { ClientUser } from './client-config.ts';
import { createCredentials } from './credentials.ts';
import { PAIR_ONE, PAIR_TWO } from './fake/key-pairs.ts';
import { createHttpApiServer } from './http-api-server.ts';

const never = new AbortController().signal;
const KEY = { resource: 'pods', namespace: 'a b', name: 'web' } as const;
const POD = { kind: 'Pod', metadata: { name: 'web', resourceVersion: '7' }, spec: { containers: [] } };

interface World {
  readonly user?: ClientUser;
  readonly server?: string;
  readonly rate?: RateLimit;
}

/** A client and its server at 10.0.0.1. */
function setUp(http: MemoryHttpHandler, { user = {}, server = 'http://10.0.0.1:80', rate }: World = {}) {
  const host = createMemoryHost();
  const config = { cluster: { server, insecureSkipVerify: false }, user };
  const credentials = createCredentials(config, { ...host, log: silentLog, environment: {} });
  const deps = { ...host, credentials, rate: rate ?? { qps: 0, burst: 0 }, userAgent: 'nodelet/1' };
  const asked: (MemoryRequest & { url: string })[] = [];
  const listener = host.network.listen(
    { host: '10.0.0.1', port: 80 },
    {
      http: async (request) => {
        const query = String(request.query);
        asked.push({ ...request, url: `${request.method} ${request.path}${query === '' ? '' : `?${query}`}` });
        return http(request);
      },
    },
  );
  return { ...host, api: createHttpApiServer(config, deps), asked, listener };
}

const json = (value: unknown, status = 200, headers: Record<string, string> = {}): ServerResponse => ({
  status,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
const statusOf = (code: number, reason: string, headers = {}): ServerResponse =>
  json({ kind: 'Status', code, reason, message: `it is ${reason}` }, code, headers);
const page = (names: readonly string[], next = '', resourceVersion = '9'): ServerResponse =>
  json({ metadata: { resourceVersion, continue: next }, items: names.map((name) => ({ metadata: { name } })) });

async function bodyOf({ body }: MemoryRequest): Promise<unknown> {
  let text = '';
  for await (const chunk of body) text += new TextDecoder().decode(chunk);
  return text === '' ? undefined : JSON.parse(text);
}

test('a request has path, credentials and user agent', async () => {
  const { api, asked } = setUp(async () => json(POD), {
    user: { token: { token: 't' } },
    server: 'http://10.0.0.1/k8s',
  });
  assert.deepEqual(await api.get(KEY, never), POD);
  assert.deepEqual(asked[0]?.url, 'GET /k8s/api/v1/namespaces/a%20b/pods/web');
  assert.deepEqual(asked[0]?.headers, [
    ['Host', '10.0.0.1'],
    ['Authorization', 'Bearer t'],
    ['Accept', 'application/json'],
    ['User-Agent', 'nodelet/1'],
  ]);
});

test('managed fields are removed', async () => {
  const noted = { ...POD, metadata: { ...POD.metadata, managedFields: [{ manager: 'kubectl' }] } };
  const { api } = setUp(async () => json(noted));
  assert.deepEqual(await api.get(KEY, never), POD);
});

test('each verb has its method, path and body', async () => {
  const bodies: unknown[] = [];
  const { api, asked } = setUp(async (request) => {
    bodies.push(await bodyOf(request));
    return json({ ...POD, status: { token: 't', expirationTimestamp: 'later' } });
  });
  const lease = { resource: 'leases', namespace: 'n', name: 'box' } as const;
  const leaseObject = { metadata: { name: 'box' }, spec: {} };
  await api.create(lease, leaseObject, never);
  await api.update(lease, leaseObject, never);
  await api.patch(
    { resource: 'nodes', namespace: '', name: 'box' },
    { status: null },
    { subresource: 'status' },
    never,
  );
  await api.delete(KEY, { uid: 'u', graceSeconds: 0 }, never);
  const issued = await api.createToken({ namespace: 'n', name: 'default' }, { expirationSeconds: 600 }, never);
  assert.deepEqual(issued, { token: 't', expirationTimestamp: 'later' });
  assert.deepEqual(
    asked.map(({ url }) => url),
    [
      'POST /apis/coordination.k8s.io/v1/namespaces/n/leases',
      'PUT /apis/coordination.k8s.io/v1/namespaces/n/leases/box',
      'PATCH /api/v1/nodes/box/status',
      'DELETE /api/v1/namespaces/a%20b/pods/web',
      'POST /api/v1/namespaces/n/serviceaccounts/default/token',
    ],
  );
  assert.deepEqual(bodies.slice(2), [
    { status: null },
    { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid: 'u' } },
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } },
  ]);
  const types = asked.map(({ headers }) => headers.find(([name]) => name === 'Content-Type')?.[1]);
  assert.deepEqual(types.slice(1, 3), ['application/json', 'application/strategic-merge-patch+json']);
});

test('a list is assembled from its pages', async () => {
  const answers = [page(['a', 'b'], 'next one'), page(['c'])];
  const { api, asked } = setUp(async () => answers.shift() ?? page([]));
  const { items, resourceVersion } = await api.list({ resource: 'pods', fieldSelector: 'spec.nodeName=box' }, never);
  assert.deepEqual([items.map(({ metadata }) => metadata.name), resourceVersion], [['a', 'b', 'c'], '9']);
  assert.deepEqual(
    asked.map(({ url }) => url),
    [
      'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dbox&limit=500',
      'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dbox&limit=500&continue=next+one',
    ],
  );
});

test('a list with an expired continue token is read again as a whole', async () => {
  const answers = [page(['a'], 'next'), statusOf(410, 'Expired'), page(['b', 'c'], '', '12')];
  const { api, asked } = setUp(async () => answers.shift() ?? page([]));
  const { items, resourceVersion } = await api.list({ resource: 'nodes' }, never);
  assert.deepEqual([items.map(({ metadata }) => metadata.name), resourceVersion], [['b', 'c'], '12']);
  assert.equal(asked[2]?.url, 'GET /api/v1/nodes');
});

test('a short delay that the server asks for is awaited, a longer one is left to the caller', async () => {
  const answers = [statusOf(429, 'TooManyRequests', { 'Retry-After': '1' }), json(POD)];
  const { api, clock } = setUp(
    async () => answers.shift() ?? statusOf(503, 'ServiceUnavailable', { 'Retry-After': '30' }),
  );
  assert.deepEqual(await clock.runUntil(api.get(KEY, never)), POD);
  assert.equal(clock.monotonic(), 1_000);
  await assert.rejects(api.get(KEY, never), {
    reason: 'Unavailable',
    retryAfterMs: 30_000,
    message: /ServiceUnavailable/,
  });
});

test('a server that keeps asking for delays is given up', async () => {
  const { api, clock, asked } = setUp(async () => statusOf(429, 'TooManyRequests', { 'Retry-After': '1' }));
  const failure = clock.runUntil(api.get(KEY, never).catch((error: unknown) => error));
  assert.equal((await failure) instanceof Error, true);
  assert.equal(asked.length, 10);
});

test('an unreachable server is Unavailable, and the error contains no secrets', async () => {
  const { api, listener } = setUp(async () => json(POD), { user: { token: { token: 'secret' } } });
  listener.close();
  await assert.rejects(api.get(KEY, never), {
    reason: 'Unavailable',
    message: 'cannot reach http://10.0.0.1:80: connect ECONNREFUSED 10.0.0.1:80',
  });
});

test('an invalid response is an error that does not quote it', async () => {
  const { api } = setUp(async () => ({ status: 200, body: '{"data":{"password":"secret"' }));
  await assert.rejects(api.get({ ...KEY, resource: 'secrets' }, never), (error: Error) => {
    assert.ok(!`${error.stack} ${error.cause}`.includes('secret"'));
    return error.message === 'the response is not JSON';
  });
});

test('the rate is limited, except for watches', async () => {
  const { api, clock } = setUp(async ({ query }) => (query.has('watch') ? { status: 200, body: '' } : json(POD)), {
    rate: { qps: 1, burst: 1 },
  });
  await api.get(KEY, never);
  for (let left = 5; left > 0; left--) {
    for await (const _ of api.watch({ resource: 'pods', resourceVersion: '1' }, never));
  }
  await clock.runUntil(api.get(KEY, never));
  assert.equal(clock.monotonic(), 1_000);
});

test('requests with a separate rate limit do not wait for others', async () => {
  const { api, clock } = setUp(async () => json(POD), { rate: { qps: 1, burst: 1 } });
  const events = api.atRate({ qps: 2, burst: 1 });
  await api.get(KEY, never);
  await events.get(KEY, never);
  assert.equal(clock.monotonic(), 0);
  await clock.runUntil(events.get(KEY, never));
  assert.equal(clock.monotonic(), 500);
  await clock.runUntil(api.get(KEY, never));
  assert.equal(clock.monotonic(), 1000);
});

test('a rejected token is read again, and the request repeated once', async () => {
  const { api, fs, asked } = setUp(
    async ({ headers }) =>
      headers.some(([, value]) => value === 'Bearer new') ? json(POD) : statusOf(401, 'Unauthorized'),
    { user: { token: { file: '/token' } } },
  );
  await fs.writeFile('/token', 'old');
  await assert.rejects(api.get(KEY, never), { reason: 'Unauthorized' });
  assert.equal(asked.length, 1);
  await fs.writeFile('/token', 'new');
  assert.deepEqual(await api.get(KEY, never), POD);
});

test('all addresses of a server are tried, and looked up again if none works', async () => {
  const { api, network } = setUp(async () => json(POD), { server: 'http://api.example' });
  network.names.set('api.example', ['10.0.0.9', '10.0.0.1']);
  assert.deepEqual(await api.get(KEY, never), POD);
  network.names.set('api.example', ['10.0.0.2']);
  assert.deepEqual(await api.get(KEY, never), POD); // the last working address
  network.errors.failNext('request', 'ECONNREFUSED', '10.0.0.1:80');
  network.listen({ host: '10.0.0.2', port: 80 }, { http: async () => json({ ...POD, kind: 'Other' }) });
  network.errors.failNext('request', 'ECONNREFUSED', '10.0.0.9:80');
  await assert.rejects(api.get(KEY, never), { reason: 'Unavailable' });
  assert.equal((await api.get(KEY, never)).kind, 'Other');
});

/** A watch without events; the signal aborts when the client is gone. */
function silentWatch(signal: AbortSignal): ServerResponse {
  const body = async function* (): AsyncGenerator<string> {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  };
  return { status: 200, body: body() };
}

test('a changed identity ends watches, which resume with the new one', async () => {
  const file = { file: '/pair' };
  const user = { certificate: { certificate: file, key: file } };
  const { api, fs, clock } = setUp(
    async ({ query, signal }) => (query.has('watch') ? silentWatch(signal) : json(POD)),
    {
      user,
    },
  );
  await fs.writeFile('/pair', PAIR_ONE.certificate + PAIR_ONE.key);
  const watching = Array.fromAsync(api.watch({ resource: 'pods', resourceVersion: '1' }, never));
  await api.get(KEY, never);
  await fs.writeFile('/pair', PAIR_TWO.certificate + PAIR_TWO.key);
  await clock.advance(1_000);
  await api.get(KEY, never);
  assert.deepEqual(await watching, []);
});

test('after two requests without a response new connections are used', async () => {
  const { api, clock } = setUp(async ({ query, signal }) => {
    if (query.has('watch')) return silentWatch(signal);
    return new Promise(() => {});
  });
  const watching = Array.fromAsync(api.watch({ resource: 'pods', resourceVersion: '1' }, never));
  for (const _ of [1, 2]) {
    const answer = api.get(KEY, clock.deadline(10_000)).catch((error: unknown) => error);
    await clock.advance(10_000);
    assert.equal((await answer) instanceof DOMException, true);
  }
  assert.deepEqual(await watching, []);
});
