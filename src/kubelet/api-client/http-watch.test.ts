import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ServerResponse } from '../../host/network.ts';
import { createCredentials } from './credentials.ts';
import { createHttpApiServer } from './http-api-server.ts';
import { wholeLines } from './http-watch.ts';

const never = new AbortController().signal;
const CONFIG = { cluster: { server: 'http://10.0.0.1', insecureSkipVerify: false }, user: {} };

function setUp(body: ServerResponse['body'], status = 200) {
  const host = createMemoryHost();
  const credentials = createCredentials(CONFIG, { ...host, log: silentLog, environment: {} });
  const api = createHttpApiServer(CONFIG, { ...host, credentials, rate: { qps: 0, burst: 0 }, userAgent: 'nodelet/1' });
  const urls: string[] = [];
  const listener = host.network.listen(
    { host: '10.0.0.1', port: 80 },
    {
      http: async ({ path, query }) => {
        urls.push(`${path}?${query}`);
        return { status, body };
      },
    },
  );
  const received: string[] = [];
  const watch = async (): Promise<void> => {
    for await (const event of api.watch({ resource: 'pods', fieldSelector: 'a=b', resourceVersion: '5' }, never)) {
      received.push(`${event.type} ${event.resourceVersion}`);
    }
  };
  return { ...host, listener, urls, received, watch };
}

const line = (type: string, resourceVersion: string, more: object = {}): string =>
  `${JSON.stringify({ type, object: { kind: 'Pod', metadata: { name: 'grüß', resourceVersion, ...more } } })}\n`;
const error = (code: number, reason: string): string =>
  `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code, reason, message: 'too old' } })}\n`;

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

test('a watch requests bookmarks and a timeout, and starts from its version', async () => {
  const { urls, watch } = setUp('');
  await watch();
  assert.match(
    urls[0] ?? '',
    /^\/api\/v1\/pods\?watch=true&allowWatchBookmarks=true&timeoutSeconds=[345]\d\d&resourceVersion=5&fieldSelector=a%3Db$/,
  );
});

for (const size of [1, 2, 3, 64, 100_000]) {
  test(`a watch delivers all events in chunks of ${size} bytes, and ends without an error`, async () => {
    const text = [line('ADDED', '6'), line('BOOKMARK', '8'), line('MODIFIED', '9'), line('DELETED', '10')].join('');
    const { received, watch } = setUp(inPieces(text, size));
    await watch();
    assert.deepEqual(received, ['ADDED 6', 'BOOKMARK 8', 'MODIFIED 9', 'DELETED 10']);
  });
}

test('a watch delivers a very large object', async () => {
  const { received, watch } = setUp(
    inPieces(line('ADDED', '6', { annotations: { large: 'x'.repeat(3_000_000) } }), 16_384),
  );
  await watch();
  assert.deepEqual(received, ['ADDED 6']);
});

const ends: Record<string, { body: string; status?: number; reason: string }> = {
  'an expired version': { body: error(410, 'Expired'), reason: 'Expired' },
  'an expired version with another reason': { body: error(410, 'Gone'), reason: 'Expired' },
  'an overloaded server': { body: error(429, 'TooManyRequests'), reason: 'TooManyRequests' },
  'a server error': { body: error(500, 'InternalError'), reason: 'InternalError' },
  'text that is not JSON': { body: '{\n', reason: 'InternalError' },
  'an unknown event type': { body: line('RENAMED', '6'), reason: 'InternalError' },
  'an error status': {
    body: '{"kind":"Status","reason":"Forbidden","message":"no"}',
    status: 403,
    reason: 'Forbidden',
  },
};

for (const [name, { body, status, reason }] of Object.entries(ends)) {
  test(`a watch ends with ${name}`, async () => {
    const { watch } = setUp(body, status);
    await assert.rejects(watch(), { name: 'ApiError', reason });
  });
}

test('a watch does not deliver an event that was cut off', async () => {
  const broken = Promise.withResolvers<void>();
  const { listener, received, watch, clock } = setUp(
    (async function* () {
      yield `${line('ADDED', '6')}{"type":"MOD`;
      await broken.promise;
    })(),
  );
  const watching = assert.rejects(watch(), { reason: 'Unavailable' });
  await clock.advance(0);
  listener.close();
  await watching;
  assert.deepEqual(received, ['ADDED 6']);
});

const TEXT = 'one\n\n{"grüß":"…"}\nlast\ncut of';

async function* chunked(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

for (const size of [1, 2, 3, 5, 7, 11, 1000]) {
  test(`wholeLines() joins chunks of ${size} bytes`, async () => {
    const lines = await Array.fromAsync(wholeLines(chunked(TEXT, size)));
    assert.deepEqual(lines, ['one', '{"grüß":"…"}', 'last']);
  });
}

test('wholeLines() has no lines for an empty stream', async () => {
  assert.deepEqual(await Array.fromAsync(wholeLines(chunked('', 1))), []);
});
