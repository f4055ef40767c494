/** The contract of HTTPS servers. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { memoryClientCertificate } from '../../../src/host/fake/memory-tls-server.ts';
import { linuxNetwork } from '../../../src/host/linux/linux-network.ts';
import type { HttpResponse, Network, TlsSettings } from '../../../src/host/network.ts';
import type { TlsHandler, TlsRequest, TlsResponse, TlsServerSettings } from '../../../src/host/tls-server.ts';
import { certificatesSkipReason, createAuthority } from '../../integration/cluster-certificates.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Identity = NonNullable<TlsServerSettings['identity']>;

interface TlsWorld {
  readonly network: Network;
  /** Two certificates for 127.0.0.1, each signed by its `authorityOf`. */
  readonly identities: readonly [Identity, Identity];
  readonly authorityOf: (identity: Identity) => string;
  /** The authority of `guest`, and another one. */
  readonly clientAuthority: string;
  readonly otherAuthority: string;
  readonly guest: Identity;
}

const never = new AbortController().signal;

async function linuxWorld(t: TestContext): Promise<TlsWorld> {
  const folder = await temporaryFolder(t);
  const servers = createAuthority(`${folder}/servers`);
  const clients = createAuthority(`${folder}/clients`);
  const read = async ({ certFile, keyFile }: { certFile: string; keyFile: string }): Promise<Identity> => ({
    certificate: await readFile(certFile, 'utf8'),
    key: await readFile(keyFile, 'utf8'),
  });
  const serverAuthority = await readFile(servers.caFile, 'utf8');
  const addresses = ['127.0.0.1'];
  return {
    network: linuxNetwork,
    identities: [
      await read(servers.issue({ user: 'first', addresses })),
      await read(createAuthority(`${folder}/later`).issue({ user: 'second', addresses })),
    ],
    authorityOf: ({ certificate }) => (certificate === '' ? '' : serverAuthority),
    clientAuthority: await readFile(clients.caFile, 'utf8'),
    otherAuthority: serverAuthority,
    guest: await read(clients.issue({ user: 'guest', groups: ['visitors', 'friends'] })),
  };
}

async function memoryWorld(): Promise<TlsWorld> {
  const certificate = memoryClientCertificate({
    authority: 'CLIENTS',
    commonName: 'guest',
    organizations: ['visitors', 'friends'],
  });
  return {
    network: createMemoryHost().network,
    identities: [
      { certificate: 'FIRST', key: 'KEY' },
      { certificate: 'SECOND', key: 'KEY' },
    ],
    authorityOf: (identity) => identity.certificate,
    clientAuthority: 'CLIENTS',
    otherAuthority: 'OTHERS',
    guest: { certificate, key: 'KEY' },
  };
}

async function served(t: TestContext, world: TlsWorld, handler: TlsHandler, serving: Partial<TlsServerSettings> = {}) {
  const [identity] = world.identities;
  const all = { identity, ...serving };
  const server = await world.network.serveTls({ host: '127.0.0.1', port: 0 }, all, handler);
  t.after(() => server.close());
  const target = { host: '127.0.0.1', port: server.port };
  const trusting = { authorities: [world.authorityOf(identity)], isExclusive: true };
  const get = (path: string, tls: TlsSettings = {}) =>
    world.network.request({ target, scheme: 'https', method: 'GET', path, tls: { ...trusting, ...tls } }, never);
  return { server, target, trusting, get };
}

async function textOf({ body }: HttpResponse): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString();
}

function said(body: string, status = 200): TlsResponse {
  return { kind: 'response', response: { status, body } };
}

const whoIsIt: TlsHandler = async ({ client }) => said(client.kind);

for (const [name, makeWorld, skip] of [
  ['linux', linuxWorld, certificatesSkipReason()],
  ['memory', memoryWorld, false],
] as const) {
  test(`${name} TLS server: passes a request to the handler, and sends its response`, { skip }, async (t) => {
    const requests: TlsRequest[] = [];
    const { get } = await served(t, await makeWorld(t), async (request) => {
      requests.push(request);
      return said('found', 203);
    });
    const answered = await get('/a/b%20c?x=1&x=2');
    assert.equal(answered.status, 203);
    assert.equal(await textOf(answered), 'found');
    const [request] = requests;
    assert.equal(request?.path, '/a/b%20c');
    assert.deepEqual(request?.query.getAll('x'), ['1', '2']);
    assert.equal(request?.upgrade, '');
    assert.deepEqual(request?.client, { kind: 'none' });
  });

  test(`${name} TLS server: identifies clients by certificate, and reports untrusted ones`, {
    skip,
  }, async (t) => {
    const world = await makeWorld(t);
    const clients: TlsRequest['client'][] = [];
    const { server, get } = await served(
      t,
      world,
      async ({ client }) => {
        clients.push(client);
        return said('');
      },
      { clientAuthorities: [world.clientAuthority] },
    );
    const asGuest = { clientCertificates: [world.guest] };
    await textOf(await get('/', asGuest));
    await textOf(await get('/'));
    server.updateSettings({ identity: world.identities[0], clientAuthorities: [world.otherAuthority] });
    await textOf(await get('/', asGuest));
    const [known, none, untrusted] = clients;
    assert.ok(known?.kind === 'known');
    assert.equal(known.commonName, 'guest');
    assert.deepEqual(known.organizations, ['visitors', 'friends']);
    assert.deepEqual(none, { kind: 'none' });
    assert.equal(untrusted?.kind, 'untrusted');
  });

  test(`${name} TLS server: asks clients for certificates only with client authorities`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { get } = await served(t, world, whoIsIt);
    assert.equal(await textOf(await get('/', { clientCertificates: [world.guest] })), 'none');
  });

  test(`${name} TLS server: uses a new certificate from the next connection on`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { server, get } = await served(t, world, whoIsIt);
    assert.equal((await get('/')).status, 200);
    server.updateSettings({ identity: world.identities[1] });
    await assert.rejects(get('/'), { name: 'NetworkError' });
    server.updateSettings({ identity: world.identities[0] });
    assert.equal((await get('/')).status, 200);
    const nonsense = { certificate: 'no certificate', key: 'no key' };
    assert.throws(() => server.updateSettings({ identity: nonsense }), { name: 'NetworkError' });
    assert.equal((await get('/')).status, 200);
  });

  test(`${name} TLS server: without a certificate no handshake succeeds`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const server = await world.network.serveTls({ host: '127.0.0.1', port: 0 }, {}, whoIsIt);
    t.after(() => server.close());
    const target = { host: '127.0.0.1', port: server.port };
    const asked = { target, scheme: 'https', method: 'GET', path: '/', insecureSkipVerify: true } as const;
    await assert.rejects(world.network.request(asked, never), { name: 'NetworkError' });
    server.updateSettings({ identity: world.identities[0] });
    assert.equal((await world.network.request(asked, never)).status, 200);
  });

  test(`${name} TLS server: upgrades a connection to a stream, or responds with the reason`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { target, trusting } = await served(t, world, async ({ path, upgrade, headers }) => {
      if (path !== '/stream') return said(`not ${upgrade}`, 403);
      return {
        kind: 'stream',
        stream: {
          headers: [
            ['Connection', 'Upgrade'],
            ['Upgrade', upgrade],
            ['X-Chosen', headers['x-offer'] ?? ''],
          ],
          async serve(stream) {
            for await (const chunk of stream.chunks) await stream.write(chunk);
            stream.end();
          },
        },
      };
    });
    const upgrade = (path: string) =>
      world.network.upgrade(
        {
          target,
          scheme: 'https',
          tls: trusting,
          method: 'POST',
          path,
          upgrade: 'SPDY/3.1',
          headers: [
            ['X-Offer', 'v4'],
            ['X-Offer', 'v3'],
          ],
        },
        never,
      );
    const { headers, stream } = await upgrade('/stream');
    assert.equal(headers['upgrade'], 'SPDY/3.1');
    assert.equal(headers['x-chosen'], 'v4, v3');
    await stream.write(Buffer.from('hello'));
    stream.end();
    assert.equal(Buffer.concat(await Array.fromAsync(stream.chunks)).toString(), 'hello');
    await assert.rejects(upgrade('/other'), { name: 'NetworkError', status: 403, bodyText: 'not SPDY/3.1' });
  });

  test(`${name} TLS server: rejects an address that is in use`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { target } = await served(t, world, whoIsIt);
    await assert.rejects(world.network.serveTls(target, {}, whoIsIt), { name: 'NetworkError', code: 'EADDRINUSE' });
  });
}

test('linux TLS server: offers the key exchanges of its settings alone', {
  skip: certificatesSkipReason(),
}, async (t) => {
  const { connect } = await import('node:tls');
  const { server } = await served(t, await linuxWorld(t), whoIsIt, { curves: [24, 4588] });
  const agreed = (ecdhCurve: string): Promise<string> =>
    new Promise((resolve) => {
      const options = { host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ecdhCurve };
      const socket = connect(options, () => {
        resolve(ecdhCurve);
        socket.destroy();
      });
      socket.on('error', (error) => resolve(error.message.includes('handshake failure') ? 'rejected' : error.message));
    });
  assert.deepEqual(await Promise.all(['P-384', 'X25519MLKEM768', 'P-256', 'X25519'].map(agreed)), [
    'P-384',
    'X25519MLKEM768',
    'rejected',
    'rejected',
  ]);
});
