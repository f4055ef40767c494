import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { HostConnection } from './host-connection.ts';
import { ALL_CAPABILITIES } from './registry-host.ts';

const HOST = {
  scheme: 'https',
  authority: 'r.io',
  path: '/v2',
  capabilities: ALL_CAPABILITIES,
  tls: undefined,
  skipVerify: false,
  fallsBackToHttp: false,
  headers: [],
  dialTimeoutMs: undefined,
} as const;

test('aborting one caller of a shared lookup does not abort it for others', async () => {
  const { clock } = createMemoryHost();
  const pull = new AbortController();
  const looked = Promise.withResolvers<readonly [string]>();
  const signals: AbortSignal[] = [];
  const transport = {
    clock,
    env: {},
    pullSignal: pull.signal,
    lookup: (_: string, signal: AbortSignal) => {
      signals.push(signal);
      return looked.promise;
    },
    pool: {
      request: async () => ({ status: 200, headers: {}, body: (async function* () {})() }),
      [Symbol.dispose]() {},
    },
  };
  const connection = new HostConnection(transport, HOST);
  const ask = (signal: AbortSignal) =>
    connection.fetch(new URL('https://r.io/v2/'), { method: 'GET', headers: [] }, () => [], signal);
  const impatient = new AbortController();
  const [first, second] = [ask(impatient.signal), ask(pull.signal)];
  impatient.abort(new Error('enough'));
  await assert.rejects(first, { message: 'enough' });
  looked.resolve(['10.0.0.1']);
  assert.equal((await second).response.status, 200);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false],
  );
});
