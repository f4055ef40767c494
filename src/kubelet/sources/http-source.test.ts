import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { MemoryService } from '../../host/fake/memory-network.ts';
import type { ServerResponse } from '../../host/network.ts';
import { manifest, readSource } from './fake/read-source.ts';
import { createHttpSource, type HttpSourceOptions } from './http-source.ts';

const TARGET = { host: '127.0.0.1', port: 8080 };
const PERIOD_MS = 20_000;
/** Longer than any delay between two attempts. */
const LONG_MS = 100_000;

function list(...names: string[]): string {
  const items = names.map((name) => ({
    metadata: { name },
    spec: { containers: [{ name: 'main', image: 'busybox' }] },
  }));
  return JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items });
}

interface Request {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

function setUp(change: Partial<HttpSourceOptions> = {}, service: Partial<MemoryService> = {}) {
  const host = createMemoryHost();
  const requests: Request[] = [];
  const server = { answer: (_: Request): ServerResponse => ({ status: 200, body: manifest('web') }) };
  host.network.listen(TARGET, {
    http: async ({ path, headers }) => {
      const request = { path, headers: Object.fromEntries(headers) };
      requests.push(request);
      return server.answer(request);
    },
    ...service,
  });
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => warnings.push(String(fields?.['error'])) };
  const options = { url: 'http://127.0.0.1:8080/pods', headers: {}, nodeName: 'box', periodMs: PERIOD_MS, ...change };
  const source = createHttpSource(options, { ...host, log });
  return {
    ...host,
    ...readSource(source, host.clock),
    server,
    requests,
    warnings,
  };
}

test('a pod is read at once, named after the node and marked with its source', async () => {
  await using it = setUp();
  assert.deepEqual(await it.after(0), { pods: ['web-box busybox'], errors: [] });
  const { annotations, uid } = it.snapshots[0]?.pods[0]?.metadata ?? {};
  assert.equal(annotations?.['kubernetes.io/config.source'], 'http');
  assert.equal(annotations?.['kubernetes.io/config.hash'], uid);
});

test('a pod list in JSON is read', async () => {
  await using it = setUp();
  it.server.answer = () => ({ status: 200, body: list('a', 'b') });
  assert.deepEqual((await it.after(0)).pods, ['a-box busybox', 'b-box busybox']);
});

test('the URL is read once per period, and unchanged text makes no snapshot', async () => {
  await using it = setUp();
  await it.after(0);
  await it.after(PERIOD_MS - 1);
  assert.equal(it.requests.length, 1);
  await it.after(1);
  assert.equal(it.requests.length, 2);
  assert.equal(it.snapshots.length, 1);
  it.server.answer = () => ({ status: 200, body: manifest('web', 'nginx') });
  assert.deepEqual((await it.after(PERIOD_MS)).pods, ['web-box nginx']);
  assert.equal(it.snapshots.length, 2);
});

test('a server that sends an ETag gets conditional requests', async () => {
  await using it = setUp();
  it.server.answer = ({ headers }) =>
    headers['If-None-Match'] === '"1"'
      ? { status: 304, body: '' }
      : { status: 200, headers: { ETag: '"1"' }, body: manifest('web') };
  await it.after(0);
  assert.deepEqual(await it.after(PERIOD_MS), { pods: ['web-box busybox'], errors: [] });
  assert.deepEqual(
    it.requests.map(({ headers }) => headers['If-None-Match']),
    [undefined, '"1"'],
  );
  assert.equal(it.snapshots.length, 1);
});

test('configured headers are sent, and Host is that of the URL', async () => {
  await using it = setUp({
    headers: { 'X-Token': ['secret'], Host: ['other'] },
    url: 'http://localhost:8080/pods?node=box',
  });
  await it.after(0);
  assert.deepEqual(it.requests, [{ path: '/pods', headers: { Host: 'localhost:8080', 'X-Token': 'secret' } }]);
});

const failures: Record<string, { answer: ServerResponse; error: string }> = {
  'a pod that is not found': {
    answer: { status: 404, body: 'not found' },
    error: 'the server answered with HTTP status 404',
  },
  'an unexpected 304': {
    answer: { status: 304, body: '' },
    error: 'the server answered with HTTP status 304',
  },
  'an empty response': { answer: { status: 200, body: '\n' }, error: 'the response is empty' },
  'a response that is too long': {
    answer: { status: 200, body: 'x'.repeat(10 * 2 ** 20 + 1) },
    error: 'the response is longer than 10485760 bytes',
  },
  'a redirect loop': {
    answer: { status: 302, headers: { Location: '/again' }, body: '' },
    error: 'stopped after 10 redirects',
  },
  'a redirect to a name': {
    answer: { status: 302, headers: { Location: 'http://example.com/' }, body: '' },
    error: 'getaddrinfo ENOTFOUND example.com',
  },
};

for (const [name, { answer, error }] of Object.entries(failures)) {
  test(`${name} removes no pod, and is reported until it is over`, async () => {
    await using it = setUp();
    await it.after(0);
    it.server.answer = () => answer;
    assert.deepEqual(await it.after(LONG_MS), { pods: ['web-box busybox'], errors: [error] });
    assert.equal(it.snapshots.length, 2);
    it.server.answer = () => ({ status: 200, body: manifest('web') });
    assert.deepEqual(await it.after(LONG_MS), { pods: ['web-box busybox'], errors: [] });
  });
}

test('an error before the first snapshot is logged once', async () => {
  await using it = setUp();
  it.server.answer = () => ({ status: 503, body: '' });
  await it.after(LONG_MS);
  assert.deepEqual(it.snapshots, []);
  assert.deepEqual(it.warnings, ['the server answered with HTTP status 503']);
  it.server.answer = () => ({ status: 200, body: manifest('web') });
  assert.deepEqual(await it.after(LONG_MS), { pods: ['web-box busybox'], errors: [] });
});

test('an empty first response makes the source ready without pods', async () => {
  await using it = setUp();
  it.server.answer = () => ({ status: 200, body: '' });
  assert.deepEqual(await it.after(0), { pods: [], errors: ['the response is empty'] });
  assert.equal(it.snapshots.length, 1);
});

test('an empty list yields an empty snapshot', async () => {
  await using it = setUp();
  await it.after(0);
  it.server.answer = () => ({ status: 200, body: list() });
  assert.deepEqual(await it.after(PERIOD_MS), { pods: [], errors: [] });
});

test('an error is retried sooner than the period, with back-off', async () => {
  await using it = setUp();
  it.server.answer = () => ({ status: 500, body: '' });
  await it.after(0);
  await it.after((PERIOD_MS / 16) * 1.5);
  assert.equal(it.requests.length, 2);
  await it.after(10 * PERIOD_MS);
  const before = it.requests.length;
  await it.after(PERIOD_MS * 2 * 1.5);
  assert.ok(it.requests.length - before <= 2);
  assert.ok(it.requests.length > before);
});

test('a success resets the back-off', async () => {
  await using it = setUp();
  it.server.answer = () => ({ status: 500, body: '' });
  await it.after(LONG_MS);
  it.server.answer = () => ({ status: 200, body: manifest('web') });
  await it.after(PERIOD_MS * 2 * 1.5);
  it.server.answer = () => ({ status: 500, body: '' });
  const { errors } = await it.after(PERIOD_MS);
  assert.equal(errors.length, 1);
  it.server.answer = () => ({ status: 200, body: manifest('web') });
  await it.after(PERIOD_MS / 2);
  assert.deepEqual((await it.after(0)).errors, []);
});

test('a text with an invalid part keeps its previous pods', async () => {
  await using it = setUp();
  it.server.answer = () => ({ status: 200, body: list('a', 'b') });
  await it.after(0);
  it.server.answer = () => ({ status: 200, body: list('a', 'B_', 'c') });
  const { pods, errors } = await it.after(PERIOD_MS);
  assert.deepEqual(pods, ['a-box busybox', 'c-box busybox', 'b-box busybox']);
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? '', /items\[1\]\.metadata\.name|metadata\.name/);
});

test('a redirect is followed, and credentials are not sent to another host', async () => {
  await using it = setUp({ headers: { Authorization: ['Bearer x'], 'X-Node': ['box'] } });
  const elsewhere: unknown[] = [];
  it.network.listen(
    { host: '10.0.0.2', port: 80 },
    {
      http: async ({ headers }) => {
        elsewhere.push(headers);
        return { status: 200, body: manifest('web') };
      },
    },
  );
  it.server.answer = ({ path }) =>
    path === '/pods'
      ? { status: 301, headers: { Location: '/moved' }, body: '' }
      : { status: 307, headers: { Location: 'http://10.0.0.2/pods' }, body: '' };
  assert.deepEqual((await it.after(0)).pods, ['web-box busybox']);
  assert.equal(it.requests[1]?.headers['Authorization'], 'Bearer x');
  assert.deepEqual(elsewhere, [
    [
      ['Host', '10.0.0.2'],
      ['X-Node', 'box'],
    ],
  ]);
});

test('credentials in the URL are sent in a header and not shown', async () => {
  await using it = setUp({ url: 'http://me:p%40ss@127.0.0.1:8080/pods' });
  await it.after(0);
  assert.equal(it.requests[0]?.headers['Authorization'], `Basic ${Buffer.from('me:p@ss').toString('base64')}`);
  it.server.answer = () => ({ status: 500, body: '' });
  await it.after(PERIOD_MS);
  assert.equal(it.snapshots.at(-1)?.errors[0]?.location, 'http://127.0.0.1:8080/pods');
});

test('a password with an @ is not shown in part', async () => {
  await using it = setUp({ url: 'http://me:p@ss@127.0.0.1:8080/pods' });
  it.server.answer = () => ({ status: 200, body: 'kind: Nothing' });
  await it.after(0);
  assert.equal(it.snapshots.at(-1)?.errors[0]?.location, 'http://127.0.0.1:8080/pods');
});

test('https is read only from a server with a trusted certificate', async () => {
  const url = 'https://127.0.0.1:8080/pods';
  await using trusted = setUp({ url }, { certificate: 'trusted' });
  assert.deepEqual((await trusted.after(0)).pods, ['web-box busybox']);
  await using untrusted = setUp({ url }, { certificate: 'untrusted' });
  await untrusted.after(0);
  assert.deepEqual(untrusted.warnings, ['self-signed certificate']);
});

const badUrls: Record<string, string> = {
  'http://example.com/pods': 'getaddrinfo ENOTFOUND example.com',
  'ftp://127.0.0.1/pods': 'the URL has the scheme "ftp", not http or https',
  pods: 'the URL cannot be parsed',
};

for (const [url, error] of Object.entries(badUrls)) {
  test(`the URL ${url} is rejected with an error in the log`, async () => {
    await using it = setUp({ url });
    await it.after(0);
    assert.deepEqual(it.warnings, [error]);
  });
}

test('a request times out after 10 seconds', async () => {
  await using it = setUp({}, { http: () => new Promise(() => {}) });
  await it.after(9_999);
  assert.deepEqual(it.warnings, []);
  await it.after(1);
  assert.deepEqual(it.warnings, ['no answer within 10 s']);
});
