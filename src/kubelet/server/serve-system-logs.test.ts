import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parseTime } from '../../base/rfc3339.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ServerResponse } from '../../host/network.ts';
import { debugDepsOf } from './debug-deps.fixture.ts';
import { serveSystemLogs } from './serve-system-logs.ts';

async function setUp(mayQuery = true) {
  const host = createMemoryHost({ startMs: parseTime('2026-11-18T00:00:00Z') });
  const { fs } = host;
  for (const folder of ['/var/log/below', '/var/log/index', '/etc']) await fs.makeDirectory(folder);
  await fs.writeFile('/etc/shadow', 'secret');
  await fs.writeFile('/var/log/one.log', 'one\n');
  await fs.writeFile('/var/log/index/index.html', '<html>');
  await fs.writeFile('/var/log/service.log', 'of a service\n');
  await fs.writeFile('/var/log/below/below.log', 'below\n');
  await fs.symbolicLink('/etc/shadow', '/var/log/out');
  await fs.symbolicLink('/etc', '/var/log/etc');
  await fs.symbolicLink('one.log', '/var/log/in');
  const { logs } = debugDepsOf({ host, view: { pods: () => [] } });
  const client = new AbortController();
  const ask = (path: string, rawQuery = '', headers: Readonly<Record<string, string>> = {}) =>
    serveSystemLogs({ ...logs, mayQuery }, path, {
      headers,
      query: new URLSearchParams(rawQuery),
      rawQuery,
      signal: client.signal,
    });
  return { ...host, client, ask };
}

async function textOf({ body }: ServerResponse): Promise<string> {
  const chunks = typeof body === 'string' ? [body] : await Array.fromAsync(body);
  return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))).toString();
}

const FILES: Readonly<Record<string, readonly [status: number, text: string]>> = {
  'one.log': [200, 'one\n'],
  in: [200, 'one\n'],
  'index/': [200, '<html>'],
  none: [404, '404 page not found\n'],
  'one.log/more': [404, '404 page not found\n'],
  'a\0b': [404, '404 page not found\n'],
  '../../etc/shadow': [404, '404 page not found\n'],
  // Links out of the folder: kubelet would follow them.
  out: [404, '404 page not found\n'],
  'etc/shadow': [404, '404 page not found\n'],
  'etc/': [404, '404 page not found\n'],
};

for (const [path, [status, text]] of Object.entries(FILES)) {
  test(`/logs/${JSON.stringify(path)} is ${status}`, async () => {
    const answer = await (await setUp()).ask(path);
    assert.deepEqual([answer.status, await textOf(answer)], [status, text]);
  });
}

const REDIRECTS: Readonly<Record<string, string>> = {
  below: 'below/?a=1',
  'one.log/': '../one.log?a=1',
  'index/index.html': './?a=1',
};

for (const [path, location] of Object.entries(REDIRECTS)) {
  test(`/logs/${path} leads to ${location}`, async () => {
    const { status, headers } = await (await setUp(false)).ask(path, 'a=1');
    assert.deepEqual([status, headers], [301, { location }]);
  });
}

test('/logs/ lists the log folder', async () => {
  const answer = await (await setUp()).ask('');
  assert.match(await textOf(answer), /<a href="below\/">below\/<\/a>\n<a href="etc">etc<\/a>\n/);
});

test('a part of a file can be requested', async () => {
  const { ask } = await setUp();
  const part = await ask('one.log', '', { range: 'bytes=1-2' });
  assert.deepEqual([part.status, await textOf(part)], [206, 'ne']);
  assert.equal(part.headers?.['content-range'], 'bytes 1-2/4');
  const beyond = await ask('one.log', '', { range: 'bytes=9-' });
  assert.deepEqual([beyond.status, beyond.headers?.['content-range']], [416, 'bytes */4']);
});

test('a file that becomes shorter while it is read is no complete response', async () => {
  const { ask, fs } = await setUp();
  await fs.writeFile('/var/log/large', 'x'.repeat(100_000));
  const { body } = await ask('large');
  await fs.writeFile('/var/log/large', '');
  assert.ok(typeof body !== 'string');
  await assert.rejects(Array.fromAsync(body), /truncated/);
});

test('queries need enableSystemLogQuery', async () => {
  const answer = await (await setUp(false)).ask('one.log', 'query=service');
  assert.equal(await textOf(answer), 'one\n');
});

const QUERIES: Readonly<Record<string, readonly [status: number, text: string]>> = {
  'query=service': [200, 'of a service\n'],
  'query=below': [200, 'below\n'],
  'query=one.log': [200, 'one\n'],
  'query=none': [200, '\nlog not found for none\n'],
  'query=none&query=service': [200, '\nlog not found for none\nof a service\n'],
  'query=out': [200, '\nerror getting log for out: openat out: path escapes from parent\n'],
  'query=service&tailLines=1': [
    200,
    '\noptions present and query resolved to log files for [service]\ntry without specifying options\n',
  ],
  'query=below/below.log': [200, 'below\n'],
  'query=etc/shadow': [406, 'query: Invalid value: ["etc/shadow"]: statat etc/shadow: path escapes from parent\n'],
  'query=/one.log': [406, 'query: Invalid value: ["/one.log"]: statat /one.log: path escapes from parent\n'],
  'query=a/b': [406, 'query: Invalid value: ["a/b"]: statat a/b: no such file or directory\n'],
  'query=': [400, 'query: Invalid value: [""]: may not be empty\n'],
};

for (const [query, [status, text]] of Object.entries(QUERIES)) {
  test(`/logs/?${query} is ${status}`, async () => {
    const answer = await (await setUp()).ask('', query);
    assert.deepEqual([answer.status, await textOf(answer)], [status, text]);
  });
}

test('a query has no path', async () => {
  const { status, body } = await (await setUp()).ask('one.log', 'query=service');
  assert.deepEqual([status, body], [406, 'path not allowed in query mode\n']);
});

test('a service with entries in the journal is read from there', async () => {
  const { ask, processes } = await setUp();
  const asked: (readonly string[])[] = [];
  processes.install('journalctl', async ({ args, stdout }) => {
    asked.push(args);
    stdout(args.includes('--field') ? 'service.service\nother.service\n' : 'an entry\n');
    return 0;
  });
  const answer = await ask('', 'query=service&query=below&boot=-1');
  assert.equal(
    await textOf(answer),
    'an entry\n\noptions present and query resolved to log files for [below]\ntry without specifying options\n',
  );
  assert.deepEqual(asked.at(-1), ['--utc', '--no-pager', '--output=short-precise', '--unit=service', '--boot', '-1']);
});

test('logs of services are compressed for clients that accept only that', async () => {
  const { ask } = await setUp();
  const { headers, body } = await ask('', 'query=service', { 'accept-encoding': 'gzip' });
  assert.equal(headers?.['content-encoding'], 'gzip');
  assert.ok(typeof body !== 'string');
  const bytes = Buffer.concat((await Array.fromAsync(body)).map((chunk) => Buffer.from(chunk)));
  assert.equal(gunzipSync(bytes).toString(), 'of a service\n');
});
