import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { serveReadOnlyApi } from './serve-read-only.ts';

const ADDRESS = { host: '127.0.0.1', port: 10255 };

test('serveReadOnlyApi() serves plain HTTP until the signal aborts', async () => {
  const { network } = createMemoryHost();
  const life = new AbortController();
  const handler = async ({ path, client, headers }: { path: string; client: object; headers: object }) => {
    const body = JSON.stringify([path, client, headers]);
    return { kind: 'response', response: { status: 200, body } } as const;
  };
  const served = serveReadOnlyApi(ADDRESS, handler, { network, log: silentLog }, life.signal);
  const { body } = await network.request({ target: ADDRESS, method: 'GET', path: '/pods' }, life.signal);
  const text = Buffer.concat(await Array.fromAsync(body)).toString();
  assert.deepEqual(JSON.parse(text), ['/pods', { kind: 'none' }, {}]);
  life.abort();
  await served;
  await (await network.serveTcp(ADDRESS, async () => ({ status: 200, body: '' }))).close();
});

test('serveReadOnlyApi() rejects when it cannot listen', async () => {
  const { network } = createMemoryHost();
  await network.serveTcp(ADDRESS, async () => ({ status: 200, body: '' }));
  const handler = async () => assert.fail('it does not listen');
  const served = serveReadOnlyApi(ADDRESS, handler, { network, log: silentLog }, new AbortController().signal);
  await assert.rejects(served, { code: 'EADDRINUSE' });
});
