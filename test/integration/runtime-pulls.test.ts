/** Images from a real registry: with TLS, passwords, tokens, mirrors, and without TLS. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { silentLog } from '../../src/base/log.ts';
import { AuthConfig } from '../../src/cri/generated/runtime-v1.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { ImagePuller, PullProgress } from '../../src/runtime/images/image-puller.ts';
import { createRegistryPuller } from '../../src/runtime/images/pull/registry-puller.ts';
import { openStorage, type Storage } from '../../src/runtime/open-storage.ts';
import {
  LOGIN,
  type RegistryOptions,
  registryMissingReason,
  startRegistry,
  type TestRegistry,
} from './registry-fixture.ts';
import { startTokenServer } from './registry-tokens.ts';

const skip = process.getuid?.() === 0 ? registryMissingReason() : 'needs root';
const never = new AbortController().signal;
const login = AuthConfig.fromPartial(LOGIN);

interface Scene {
  readonly puller: ImagePuller;
  readonly storage: Storage;
  /** Configures how a registry is reached, from the next pull on. */
  configure(registry: string, text: string): void;
  registry(options?: RegistryOptions): Promise<TestRegistry>;
}

async function scene(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-pulls-'));
  const host = createLinuxHost(process.env);
  const architecture = goArchitecture();
  const settings = { pinnedImages: [], registryConfigDirs: [join(folder, 'certs.d')] };
  const paths = { storage: join(folder, 'storage') };
  const driver = { driver: 'native' } as const; // nothing of it is ever mounted
  const storage = await openStorage({ ...host, log: silentLog, paths, settings, architecture, ...driver });
  t.after(async () => {
    await storage.settled();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    puller: createRegistryPuller({ ...host, ingest: storage.ingest, architecture, settings, env, log: silentLog }),
    storage,
    configure(registry, text) {
      mkdirSync(join(folder, 'certs.d', registry), { recursive: true });
      writeFileSync(join(folder, 'certs.d', registry, 'hosts.toml'), text);
    },
    async registry(options) {
      const registry = await startRegistry(options);
      t.after(() => registry.stop());
      return registry;
    },
  };
}

test('a registry on this machine is used, with TLS and without', { skip }, async (t) => {
  const { puller, storage, registry } = await scene(t);
  for (const tls of [false, true]) {
    const image = await (await registry({ tls })).push('app');
    const progress: PullProgress[] = [];
    const { id } = await puller.pull(image, undefined, never, (each) => progress.push(each));
    assert.deepEqual(storage.images.find(image)?.id, id);
    const done = progress.filter((each) => each.kind === 'layer' && each.state.phase === 'done');
    assert.ok(done.length > 0);
    const source = `${tls ? 'https' : 'http'}://${image.split('/')[0]}/v2`;
    assert.equal(progress[0]?.kind === 'resolved' && progress[0].source, source);
  }
});

test('a CA of hosts.toml is trusted, from the next pull on', { skip }, async (t) => {
  const { puller, configure, registry } = await scene(t);
  const { address, caFile, push } = await registry({ tls: true });
  const image = await push('app');
  configure(address, `server = "https://${address}"`);
  await assert.rejects(puller.pull(image, undefined, never), {
    code: 'Unknown',
    message: new RegExp(`^failed to pull image "${image}": https://${address}/v2: self-signed certificate`),
  });
  configure(address, `server = "https://${address}"\nca = "${caFile}"`);
  await puller.pull(image, undefined, never);
});

test('basic authentication', { skip }, async (t) => {
  const { puller, registry } = await scene(t);
  const image = await (await registry({ asksForLogin: true, tls: true })).push('app');
  const rejected = async (auth: AuthConfig | undefined, asked: string) => {
    const message = new RegExp(`status 401: UNAUTHORIZED: authentication required \\(requested ${asked}\\)$`);
    await assert.rejects(puller.pull(image, auth, never), { code: 'Unknown', message });
  };
  await rejected(undefined, 'without a login');
  await rejected(AuthConfig.fromPartial({ ...LOGIN, password: 'another' }), 'with the login of tester');
  await puller.pull(image, login, never);
});

test('a token is fetched with a password, once per pull', { skip }, async (t) => {
  const { puller, registry } = await scene(t);
  const tokens = await startTokenServer();
  t.after(() => tokens.stop());
  const guarded = await registry();
  const image = await guarded.push('team/app');
  await guarded.pause();
  await guarded.resume({ token: tokens });
  await assert.rejects(puller.pull(image, undefined, never), {
    message: /status 401: UNAUTHORIZED: who\? \(requested without a login\)$/,
  });
  await puller.pull(image, login, never);
  assert.deepEqual(tokens.asked, ['repository:team/app:pull rejected', 'repository:team/app:pull granted']);
});

test('mirrors are tried first, and when all fail the error contains their reasons', { skip }, async (t) => {
  const { puller, storage, configure, registry } = await scene(t);
  const [empty, mirror] = [await registry(), await registry({ tls: true })];
  await mirror.push('team/app');
  const name = 'registry.invalid/team/app:1';
  configure(
    '_default',
    `[host."http://${empty.address}"]\n[host."https://${mirror.address}"]\nca = "${mirror.caFile}"\n`,
  );
  const progress: PullProgress[] = [];
  const { id } = await puller.pull(name, undefined, never, (each) => progress.push(each));
  assert.equal(progress[0]?.kind === 'resolved' && progress[0].source, `https://${mirror.address}/v2`);
  assert.equal(storage.images.find(name)?.id, id);
  await mirror.pause();
  const reasons = [
    `http://${empty.address}/v2/team/app/manifests/1: status 404: MANIFEST_UNKNOWN: manifest unknown`,
    `https://${mirror.address}/v2: connect ECONNREFUSED ${mirror.address}`,
    'https://registry.invalid/v2: getaddrinfo (ENOTFOUND|EAI_AGAIN) registry.invalid',
  ];
  const message = new RegExp(`^failed to pull image "${name}": ${reasons.join('; ')}$`);
  await assert.rejects(puller.pull(name, undefined, never), { code: 'Unknown', message });
});

/** A proxy that forwards every connection to one address and records the requests. */
async function startProxy(t: TestContext, login: string) {
  const asked: string[] = [];
  const place = { port: 0 };
  const server = createServer().on('connect', (request, socket) => {
    const isIn = request.headers['proxy-authorization'] === `Basic ${Buffer.from(login).toString('base64')}`;
    asked.push(`${request.url} ${isIn ? 'granted' : 'rejected'}`);
    if (!isIn) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const onward = connect(place.port, '127.0.0.1');
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    onward.pipe(socket).pipe(onward);
    for (const each of [socket, onward]) each.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo; // the proxy listens on TCP
  return { address: `127.0.0.1:${port}`, asked, leadTo: (onward: number) => Object.assign(place, { port: onward }) };
}

test('a registry is reached through a proxy that resolves its name', { skip }, async (t) => {
  const proxy = await startProxy(t, 'me:s@cret');
  const name = 'registry.invalid/team/app:1';
  const settings = 'server = "https://registry.invalid"\nskip_verify = true';
  const { puller, configure, registry } = await scene(t, { HTTPS_PROXY: `http://me:s%40cret@${proxy.address}` });
  const { address, push } = await registry({ tls: true });
  await push('team/app');
  proxy.leadTo(Number(address.split(':')[1]));
  configure('registry.invalid', settings);
  await puller.pull(name, undefined, never);
  assert.deepEqual(new Set(proxy.asked), new Set(['registry.invalid:443 granted']));
  const stranger = await scene(t, { https_proxy: `http://me:wrong@${proxy.address}` });
  stranger.configure('registry.invalid', settings);
  await assert.rejects(stranger.puller.pull(name, undefined, never), ({ message }: Error) => {
    assert.match(message, new RegExp(`https://registry.invalid/v2: via proxy ${proxy.address}: .* 407 `));
    assert.ok(!message.includes('wrong'));
    return true;
  });
});

test('an image that no registry has is not found', { skip }, async (t) => {
  const { puller, registry } = await scene(t);
  const { address } = await registry();
  await assert.rejects(puller.pull(`${address}/none:1`, undefined, never), {
    code: 'NotFound',
    message: /manifests\/1: status 404: MANIFEST_UNKNOWN: manifest unknown$/,
  });
});
