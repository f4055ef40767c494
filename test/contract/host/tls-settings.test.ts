/** The contract of TLS settings of requests. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { linuxNetwork } from '../../../src/host/linux/linux-network.ts';
import type { DialTarget, HttpPool, Network, TlsSettings } from '../../../src/host/network.ts';
import { listenLocally } from './http2-server.ts';
import { linuxNetworkWorld } from './network-worlds.ts';
import { certificateSkipReason, makeCertificate, type Pair } from './own-certificate.ts';
import { temporaryFolder } from './temporary-folder.ts';

const never = new AbortController().signal;

interface TlsWorld {
  readonly network: Network;
  /** Its certificate is signed by `authority`. */
  readonly server: DialTarget;
  /** The same, and it accepts only `guest`. */
  readonly guarded: DialTarget;
  /** Without TLS. */
  readonly plain: DialTarget;
  readonly authority: string;
  readonly guest: Pair;
  readonly stranger: Pair;
}

async function linuxTlsWorld(t: TestContext): Promise<TlsWorld & { connections(): number }> {
  const folder = await temporaryFolder(t);
  const names = ['server', 'guest', 'stranger'];
  const [own, guest, stranger] = await Promise.all(names.map((name) => makeCertificate(folder, name)));
  assert.ok(own && guest && stranger);
  let connections = 0;
  const listen = async (options: object): Promise<DialTarget> => {
    const identity = { key: own.key, cert: own.certificate, allowHTTP1: true };
    const server = createSecureServer({ ...identity, ...options }, (_, response) => void response.end('in'));
    server.on('secureConnection', () => connections++);
    return (await listenLocally(t, server)).target;
  };
  const { createServer: createPlain } = await import('node:http');
  const plain = createPlain((_, response) => response.end('plain')).listen(0, '127.0.0.1');
  await once(plain, 'listening');
  t.after(() => plain.close());
  const { port } = plain.address() as AddressInfo;
  return {
    connections: () => connections,
    network: linuxNetwork,
    server: await listen({}),
    guarded: await listen({ requestCert: true, rejectUnauthorized: true, ca: guest.certificate }),
    plain: { host: '127.0.0.1', port },
    authority: own.certificate,
    guest,
    stranger,
  };
}

async function memoryTlsWorld(): Promise<TlsWorld> {
  const { network } = createMemoryHost();
  const at = (port: number): DialTarget => ({ host: '127.0.0.1', port });
  const http = async () => ({ status: 200, body: 'in' });
  network.listen(at(1), { http, certificate: { authority: 'A', name: '127.0.0.1' } });
  network.listen(at(2), { http, certificate: { authority: 'A', clients: ['guest'] } });
  network.listen(at(3), { http });
  const pair = (certificate: string): Pair => ({ certificate, key: 'k' });
  const people = { guest: pair('guest'), stranger: pair('stranger') };
  return { network, server: at(1), guarded: at(2), plain: at(3), authority: 'A', ...people };
}

/** The same with HTTP/2. */
async function linuxHttp2World(t: TestContext): Promise<TlsWorld> {
  const world = await linuxTlsWorld(t);
  const network: Network = { ...linuxNetwork, pool: () => multiplexing(linuxNetwork.pool()) };
  const pool = network.pool();
  t.after(() => pool[Symbol.dispose]());
  return { ...world, network: { ...network, request: pool.request } };
}

function multiplexing(pool: HttpPool): HttpPool {
  return { ...pool, request: (request, signal) => pool.request({ ...request, mayMultiplex: true }, signal) };
}

tlsContract('linux', linuxTlsWorld, certificateSkipReason);
tlsContract('linux HTTP/2', linuxHttp2World, certificateSkipReason);
tlsContract('memory', memoryTlsWorld, false);

function tlsContract(name: string, makeWorld: (t: TestContext) => Promise<TlsWorld>, skip: string | false): void {
  test(`${name} TLS: only a given authority is trusted`, { skip }, async (t) => {
    const { network, server, authority, stranger } = await makeWorld(t);
    assert.equal(await ask(network, server, { authorities: [authority] }), 'in');
    for (const tls of [undefined, {}, { authorities: [stranger.certificate] }]) {
      await assert.rejects(ask(network, server, tls), { name: 'NetworkError', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    }
  });

  test(`${name} TLS: a pool separates connections by settings`, { skip }, async (t) => {
    const { network, server, authority } = await makeWorld(t);
    using pool = network.pool();
    assert.equal(await ask(pool, server, { authorities: [authority] }), 'in');
    await assert.rejects(ask(pool, server, undefined), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  test(`${name} TLS: client certificates are tried until one is accepted`, { skip }, async (t) => {
    const { network, guarded, authority, guest, stranger } = await makeWorld(t);
    const authorities = [authority];
    assert.equal(await ask(network, guarded, { authorities, clientCertificates: [guest] }), 'in');
    assert.equal(await ask(network, guarded, { authorities, clientCertificates: [stranger, guest] }), 'in');
    await assert.rejects(ask(network, guarded, { authorities }), { name: 'NetworkError' });
    const alone = ask(network, guarded, { authorities, clientCertificates: [stranger] });
    await assert.rejects(alone, { name: 'NetworkError' });
  });

  test(`${name} TLS: authorities can be exclusive`, { skip }, async (t) => {
    const { network, server, authority } = await makeWorld(t);
    assert.equal(await ask(network, server, { authorities: [authority], isExclusive: true }), 'in');
    await assert.rejects(ask(network, server, { isExclusive: true }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  test(`${name} TLS: a certificate must have the server's name`, { skip }, async (t) => {
    const { network, server, authority } = await makeWorld(t);
    const tls = { authorities: [authority] };
    assert.equal(await ask(network, server, { ...tls, serverName: '127.0.0.1' }), 'in');
    const other = ask(network, server, { ...tls, serverName: 'other.example' });
    await assert.rejects(other, { name: 'NetworkError', code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  test(`${name} TLS: a server without TLS is a protocol error`, { skip }, async (t) => {
    const { network, plain } = await makeWorld(t);
    await assert.rejects(ask(network, plain, undefined), { name: 'NetworkError', code: 'EPROTO' });
  });
}

test('linux TLS: a pool keeps connections to a server name', { skip: certificateSkipReason }, async (t) => {
  const { server, authority, connections } = await linuxTlsWorld(t);
  using pool = linuxNetwork.pool();
  const tls = { authorities: [authority], serverName: 'server.example' };
  for (let left = 3; left > 0; left--) assert.equal(await ask(pool, server, tls), 'in');
  assert.equal(connections(), 1);
});

test('linux TLS: an invalid certificate fails the request', async (t) => {
  const target = (await linuxNetworkWorld(t)).echo;
  const tls = { clientCertificates: [{ certificate: 'none', key: 'none' }] };
  await assert.rejects(ask(linuxNetwork, target, tls), { name: 'NetworkError', code: /^ERR_OSSL/ });
});

async function ask(
  network: Pick<Network, 'request'>,
  target: DialTarget,
  tls: TlsSettings | undefined,
): Promise<string> {
  const request = { target, scheme: 'https', method: 'GET', path: '/', ...(tls && { tls }) } as const;
  const { body } = await network.request(request, never);
  let text = '';
  for await (const chunk of body) text += new TextDecoder().decode(chunk);
  return text;
}
