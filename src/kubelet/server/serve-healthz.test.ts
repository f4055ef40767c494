import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogFields, silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { serveHealthz } from './serve-healthz.ts';

const never = new AbortController().signal;
const ADDRESS = { host: '127.0.0.1', port: 10248 };

function setUp() {
  const { network, clock } = createMemoryHost();
  const life = new AbortController();
  const logged: LogFields[] = [];
  const log = { ...silentLog, error: (_: string, fields: LogFields = {}) => void logged.push(fields) };
  const failed: { parts?: string } = {};
  const deps = { network, clock, log, failedParts: () => failed.parts };
  const run = (address = ADDRESS) => serveHealthz(address, deps, life.signal);
  const ask = async (path: string, method: 'GET' | 'POST' = 'GET') => {
    const { status, headers, body } = await network.request({ target: ADDRESS, method, path }, never);
    return { status, headers, body: Buffer.concat(await Array.fromAsync(body)).toString() };
  };
  return { network, clock, life, logged, failed, run, ask };
}

const LINE = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const UNKNOWN = { status: 404, headers: LINE, body: '404 page not found\n' };

for (const [path, answer] of [
  ['/healthz', { status: 200, headers: LINE, body: 'ok' }],
  ['/healthz?verbose', { status: 200, headers: LINE, body: '[+]ping ok\nhealthz check passed\n' }],
  ['/healthz/ping', { status: 200, headers: TEXT, body: 'ok' }],
  ['/healthz/parts', { status: 200, headers: TEXT, body: 'ok' }],
  ['/healthz/syncloop', UNKNOWN],
  ['/healthz/', UNKNOWN],
  ['/metrics', UNKNOWN],
  ['/runningpods', UNKNOWN],
  ['/%zz', { status: 400, headers: TEXT, body: '400 Bad Request' }],
] as const) {
  test(`serveHealthz() answers ${answer.status} to ${path}`, async () => {
    const { run, ask, life } = setUp();
    const running = run();
    assert.deepEqual(await ask(path), answer);
    assert.deepEqual(await ask(path, 'POST'), answer);
    life.abort();
    await running;
  });
}

test('serveHealthz() reports failed parts, and their reasons only under their own path', async () => {
  const { run, ask, failed } = setUp();
  void run();
  failed.parts = 'pleg has failed: a bug';
  const all = await ask('/healthz');
  assert.deepEqual(
    [all.status, all.body],
    [500, '[+]ping ok\n[-]parts failed: reason withheld\nhealthz check failed\n'],
  );
  const one = await ask('/healthz/parts');
  assert.deepEqual([one.status, one.body], [500, 'internal server error: pleg has failed: a bug\n']);
  assert.equal((await ask('/healthz?exclude=parts')).status, 200);
});

test('serveHealthz() redirects to the clean path', async () => {
  const { run, ask } = setUp();
  void run();
  const { status, headers } = await ask('//healthz?verbose=1');
  assert.deepEqual([status, headers['location']], [307, '/healthz?verbose=1']);
});

test('serveHealthz() ends with its signal, and the port is free again', async () => {
  const { run, life, network } = setUp();
  const running = run();
  life.abort();
  await running;
  await assert.rejects(network.dial(ADDRESS, never), { code: 'ECONNREFUSED' });
});

test('serveHealthz() does nothing on port 0', async () => {
  await setUp().run({ ...ADDRESS, port: 0 });
});

test('serveHealthz() tries again every five seconds where another process has the port', async () => {
  const { run, ask, logged, network, clock } = setUp();
  const other = network.listen(ADDRESS);
  void run();
  await clock.advance(9000);
  assert.deepEqual(
    logged.map(({ address, port }) => [address, port]),
    [
      [ADDRESS.host, ADDRESS.port],
      [ADDRESS.host, ADDRESS.port],
    ],
  );
  other.close();
  await clock.advance(1000);
  assert.equal((await ask('/healthz')).body, 'ok');
  assert.equal(logged.length, 2);
});

test('serveHealthz() ends while it waits for the port', async () => {
  const { run, life, network, clock } = setUp();
  network.listen(ADDRESS);
  const running = run();
  await clock.advance(1000);
  life.abort();
  await running;
});
