import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { MemoryService } from '../../host/fake/memory-network.ts';
import type { ServerResponse } from '../../host/network.ts';
import { createHttpSource, type HttpSourceOptions } from './http-source.ts';
import type { SourceSnapshot } from './pod-source.ts';

const TARGET = { host: '127.0.0.1', port: 8080 };
const PERIOD_MS = 20_000;
/** Longer than any pause between two tries. */
const LONG_MS = 100_000;

function manifest(name: string, image = 'busybox'): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: main, image: ${image}}]}\n`;
}

function list(...names: string[]): string {
  const items = names.map((name) => ({
    metadata: { name },
    spec: { containers: [{ name: 'main', image: 'busybox' }] },
  }));
  return JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items });
}

interface Asked {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

function setUp(change: Partial<HttpSourceOptions> = {}, service: Partial<MemoryService> = {}) {
  const host = createMemoryHost();
  const asked: Asked[] = [];
  const server = { answer: (_: Asked): ServerResponse => ({ status: 200, body: manifest('web') }) };
  host.network.listen(TARGET, {
    http: async ({ path, headers }) => {
      const request = { path, headers: Object.fromEntries(headers) };
      asked.push(request);
      return server.answer(request);
    },
    ...service,
  });
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => warnings.push(String(fields?.['problem'])) };
  const options = { url: 'http://127.0.0.1:8080/pods', headers: {}, nodeName: 'box', periodMs: PERIOD_MS, ...change };
  const source = createHttpSource(options, { ...host, log });
  const life = new AbortController();
  const told: SourceSnapshot[] = [];
  const done = (async () => {
    for await (const snapshot of source.snapshots(life.signal)) told.push(snapshot);
  })();
  return {
    ...host,
    server,
    asked,
    told,
    warnings,
    async after(ms: number) {
      await host.clock.advance(ms);
      const { pods = [], errors: problems = [] } = told.at(-1) ?? {};
      return {
        pods: pods.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`),
        problems: problems.map(({ message }) => message),
      };
    },
    async stop() {
      life.abort();
      await host.clock.runUntil(done);
    },
  };
}

test('a pod is read at once, named after the node and marked with its source', async () => {
  const it = setUp();
  assert.deepEqual(await it.after(0), { pods: ['web-box busybox'], problems: [] });
  const { annotations, uid } = it.told[0]?.pods[0]?.metadata ?? {};
  assert.equal(annotations?.['kubernetes.io/config.source'], 'http');
  assert.equal(annotations?.['kubernetes.io/config.hash'], uid);
  await it.stop();
});

test('a list of pods in JSON is as good', async () => {
  const it = setUp();
  it.server.answer = () => ({ status: 200, body: list('a', 'b') });
  assert.deepEqual((await it.after(0)).pods, ['a-box busybox', 'b-box busybox']);
  await it.stop();
});

test('the URL is read once a period, and the same text tells nothing new', async () => {
  const it = setUp();
  await it.after(0);
  await it.after(PERIOD_MS - 1);
  assert.equal(it.asked.length, 1);
  await it.after(1);
  assert.equal(it.asked.length, 2);
  assert.equal(it.told.length, 1);
  it.server.answer = () => ({ status: 200, body: manifest('web', 'nginx') });
  assert.deepEqual((await it.after(PERIOD_MS)).pods, ['web-box nginx']);
  assert.equal(it.told.length, 2);
  await it.stop();
});

test('a server that gives an ETag is asked for what has changed since', async () => {
  const it = setUp();
  it.server.answer = ({ headers }) =>
    headers['If-None-Match'] === '"1"'
      ? { status: 304, body: '' }
      : { status: 200, headers: { ETag: '"1"' }, body: manifest('web') };
  await it.after(0);
  assert.deepEqual(await it.after(PERIOD_MS), { pods: ['web-box busybox'], problems: [] });
  assert.deepEqual(
    it.asked.map(({ headers }) => headers['If-None-Match']),
    [undefined, '"1"'],
  );
  assert.equal(it.told.length, 1);
  await it.stop();
});

test('the headers that were configured are sent, and the host is that of the URL', async () => {
  const it = setUp({ headers: { 'X-Token': ['secret'], Host: ['other'] }, url: 'http://localhost:8080/pods?node=box' });
  await it.after(0);
  assert.deepEqual(it.asked, [{ path: '/pods', headers: { Host: 'localhost:8080', 'X-Token': 'secret' } }]);
  await it.stop();
});

const failures: Record<string, { answer: ServerResponse; problem: string }> = {
  'a pod that is not found': {
    answer: { status: 404, body: 'not found' },
    problem: 'the server answered with HTTP status 404',
  },
  'a 304 that nobody asked for': {
    answer: { status: 304, body: '' },
    problem: 'the server answered with HTTP status 304',
  },
  'an empty answer': { answer: { status: 200, body: '\n' }, problem: 'the answer is empty' },
  'an endless answer': {
    answer: { status: 200, body: 'x'.repeat(10 * 2 ** 20 + 1) },
    problem: 'the answer is longer than 10485760 bytes',
  },
  'a redirect in a circle': {
    answer: { status: 302, headers: { Location: '/again' }, body: '' },
    problem: 'stopped after 10 redirects',
  },
  'a redirect to a name': {
    answer: { status: 302, headers: { Location: 'http://example.com/' }, body: '' },
    problem: 'getaddrinfo ENOTFOUND example.com',
  },
};

for (const [name, { answer, problem }] of Object.entries(failures)) {
  test(`${name} takes no pod away, and is told until it is over`, async () => {
    const it = setUp();
    await it.after(0);
    it.server.answer = () => answer;
    assert.deepEqual(await it.after(LONG_MS), { pods: ['web-box busybox'], problems: [problem] });
    assert.equal(it.told.length, 2);
    it.server.answer = () => ({ status: 200, body: manifest('web') });
    assert.deepEqual(await it.after(LONG_MS), { pods: ['web-box busybox'], problems: [] });
    await it.stop();
  });
}

test('before anything was read nothing is told but to the log, once', async () => {
  const it = setUp();
  it.server.answer = () => ({ status: 503, body: '' });
  await it.after(LONG_MS);
  assert.deepEqual(it.told, []);
  assert.deepEqual(it.warnings, ['the server answered with HTTP status 503']);
  it.server.answer = () => ({ status: 200, body: manifest('web') });
  assert.deepEqual(await it.after(LONG_MS), { pods: ['web-box busybox'], problems: [] });
  await it.stop();
});

test('an empty first answer makes the source ready without pods', async () => {
  const it = setUp();
  it.server.answer = () => ({ status: 200, body: '' });
  assert.deepEqual(await it.after(0), { pods: [], problems: ['the answer is empty'] });
  assert.equal(it.told.length, 1);
  await it.stop();
});

test('an empty list says that there are no pods', async () => {
  const it = setUp();
  await it.after(0);
  it.server.answer = () => ({ status: 200, body: list() });
  assert.deepEqual(await it.after(PERIOD_MS), { pods: [], problems: [] });
  await it.stop();
});

test('a failure is tried again sooner than a period, and ever more slowly', async () => {
  const it = setUp();
  it.server.answer = () => ({ status: 500, body: '' });
  await it.after(0);
  await it.after((PERIOD_MS / 16) * 1.5);
  assert.equal(it.asked.length, 2);
  await it.after(10 * PERIOD_MS);
  const before = it.asked.length;
  await it.after(PERIOD_MS * 2 * 1.5);
  assert.ok(it.asked.length - before <= 2);
  assert.ok(it.asked.length > before);
  await it.stop();
});

test('after a success the next failure is tried again soon', async () => {
  const it = setUp();
  it.server.answer = () => ({ status: 500, body: '' });
  await it.after(LONG_MS);
  it.server.answer = () => ({ status: 200, body: manifest('web') });
  await it.after(PERIOD_MS * 2 * 1.5);
  it.server.answer = () => ({ status: 500, body: '' });
  const { problems } = await it.after(PERIOD_MS);
  assert.equal(problems.length, 1);
  it.server.answer = () => ({ status: 200, body: manifest('web') });
  await it.after(PERIOD_MS / 2);
  assert.deepEqual((await it.after(0)).problems, []);
  await it.stop();
});

test('a text of which a part is broken keeps the pods that it had before', async () => {
  const it = setUp();
  it.server.answer = () => ({ status: 200, body: list('a', 'b') });
  await it.after(0);
  it.server.answer = () => ({ status: 200, body: list('a', 'B_', 'c') });
  const { pods, problems } = await it.after(PERIOD_MS);
  assert.deepEqual(pods, ['a-box busybox', 'c-box busybox', 'b-box busybox']);
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /items\[1\]\.metadata\.name|metadata\.name/);
  await it.stop();
});

test('a redirect is followed, and the secrets of one host are not sent to another', async () => {
  const it = setUp({ headers: { Authorization: ['Bearer x'], 'X-Node': ['box'] } });
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
  assert.equal(it.asked[1]?.headers['Authorization'], 'Bearer x');
  assert.deepEqual(elsewhere, [
    [
      ['Host', '10.0.0.2'],
      ['X-Node', 'box'],
    ],
  ]);
  await it.stop();
});

test('a name and password of the URL go into a header and nowhere else', async () => {
  const it = setUp({ url: 'http://me:p%40ss@127.0.0.1:8080/pods' });
  await it.after(0);
  assert.equal(it.asked[0]?.headers['Authorization'], `Basic ${Buffer.from('me:p@ss').toString('base64')}`);
  it.server.answer = () => ({ status: 500, body: '' });
  await it.after(PERIOD_MS);
  assert.equal(it.told.at(-1)?.errors[0]?.location, 'http://127.0.0.1:8080/pods');
  await it.stop();
});

test('a password with an @ of its own is not shown in part', async () => {
  const it = setUp({ url: 'http://me:p@ss@127.0.0.1:8080/pods' });
  it.server.answer = () => ({ status: 200, body: 'kind: Nothing' });
  await it.after(0);
  assert.equal(it.told.at(-1)?.errors[0]?.location, 'http://127.0.0.1:8080/pods');
  await it.stop();
});

test('https is read from a server with a certificate to trust, and from no other', async () => {
  const url = 'https://127.0.0.1:8080/pods';
  const trusted = setUp({ url }, { certificate: 'trusted' });
  assert.deepEqual((await trusted.after(0)).pods, ['web-box busybox']);
  await trusted.stop();
  const untrusted = setUp({ url }, { certificate: 'untrusted' });
  await untrusted.after(0);
  assert.deepEqual(untrusted.warnings, ['self-signed certificate']);
  await untrusted.stop();
});

const badUrls: Record<string, string> = {
  'http://example.com/pods': 'getaddrinfo ENOTFOUND example.com',
  'ftp://127.0.0.1/pods': 'the URL has the scheme "ftp", not http or https',
  pods: 'the URL cannot be parsed',
};

for (const [url, problem] of Object.entries(badUrls)) {
  test(`the URL ${url} cannot be used, and the log says why`, async () => {
    const it = setUp({ url });
    await it.after(0);
    assert.deepEqual(it.warnings, [problem]);
    await it.stop();
  });
}

test('a server that does not answer is given up after 10 seconds', async () => {
  const it = setUp({}, { http: () => new Promise(() => {}) });
  await it.after(9_999);
  assert.deepEqual(it.warnings, []);
  await it.after(1);
  assert.deepEqual(it.warnings, ['no answer within 10 s']);
  await it.stop();
});
