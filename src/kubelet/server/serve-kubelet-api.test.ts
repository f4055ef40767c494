import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { memoryClientCertificate } from '../../host/fake/memory-tls-server.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import type { TlsHandler } from '../../host/tls-server.ts';
import type { KeyPair } from '../certificates/serving-certificate.ts';
import { serveKubeletApi } from './serve-kubelet-api.ts';

const never = new AbortController().signal;
const CA_FILE = '/etc/pki/ca.crt';
const target = { host: '127.0.0.1', port: 10250 };
const handler: TlsHandler = async ({ client }) => ({ kind: 'response', response: { status: 200, body: client.kind } });

async function setUp(first: KeyPair | undefined = { certificate: 'FIRST', key: 'KEY' }) {
  const { fs, network } = createMemoryHost();
  await fs.makeDirectory('/etc/pki');
  await fs.writeFile(CA_FILE, 'CA');
  let pair = first;
  const listeners = new Set<() => void>();
  const certificate = {
    current: () => pair,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const life = new AbortController();
  const listening = Promise.withResolvers<number>();
  const settings = { address: target.host, port: target.port, clientCaFile: CA_FILE };
  const deps = { network, fs, log: silentLog, certificate, onListening: listening.resolve };
  const running = serveKubeletApi(settings, handler, deps, life.signal);
  await Promise.race([listening.promise, running]);
  const ask = async (authority: string, clientCertificates: readonly KeyPair[] = []) => {
    const tls = { authorities: [authority], clientCertificates };
    const { body } = await network.request({ target, scheme: 'https', tls, method: 'GET', path: '/' }, never);
    return Buffer.concat(await Array.fromAsync(body)).toString();
  };
  const replace = (next: KeyPair): void => {
    pair = next;
    for (const listener of listeners) listener();
  };
  return { fs, ask, replace, listeners, life, running };
}

function clientOf(authority: string): KeyPair {
  return { certificate: memoryClientCertificate({ authority, commonName: 'jane' }), key: 'KEY' };
}

test('a certificate that is replaced is shown from then on', async () => {
  const { ask, replace } = await setUp();
  assert.equal(await ask('FIRST'), 'none');
  replace({ certificate: 'SECOND', key: 'KEY' });
  assert.equal(await ask('SECOND'), 'none');
  await assert.rejects(ask('FIRST'), { name: 'NetworkError' });
});

test('a certificate that makes no sense leaves the one before in use', async () => {
  const { ask, replace } = await setUp();
  replace({ certificate: 'no certificate', key: 'KEY' });
  assert.equal(await ask('FIRST'), 'none');
});

test('a file of authorities that changes counts from then on, and an empty one does not', async () => {
  const { fs, ask } = await setUp();
  assert.equal(await ask('FIRST', [clientOf('CA')]), 'known');
  assert.equal(await ask('FIRST', [clientOf('OTHER')]), 'untrusted');
  await fs.writeFile(CA_FILE, '');
  await eventLoopTurn();
  assert.equal(await ask('FIRST', [clientOf('CA')]), 'known');
  await fs.writeFile(CA_FILE, 'OTHER');
  await eventLoopTurn();
  assert.equal(await ask('FIRST', [clientOf('OTHER')]), 'known');
  assert.equal(await ask('FIRST', [clientOf('CA')]), 'untrusted');
});

test('it ends with its signal, and lets go of everything', async () => {
  const { ask, life, running, listeners } = await setUp();
  life.abort();
  await running;
  assert.equal(listeners.size, 0);
  await assert.rejects(ask('FIRST'), { code: 'ECONNREFUSED' });
});

test('without the file of authorities it does not begin', async () => {
  const { network, fs } = createMemoryHost();
  const certificate = { current: () => undefined, subscribe: () => () => {} };
  const settings = { address: target.host, port: target.port, clientCaFile: '/none' };
  const deps = { network, fs, log: silentLog, certificate };
  await assert.rejects(serveKubeletApi(settings, handler, deps, never), /unable to load client CA file \/none/);
});
