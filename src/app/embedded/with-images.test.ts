import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { fakeImageOperations } from './fake/fake-image-operations.ts';
import { serveImages } from './image-api.ts';
import { withImages } from './with-images.ts';

const signal = new AbortController().signal;
const FOLDERS = {
  rootDir: '/var/lib/nodelet',
  stateDir: '/run/nodelet',
  env: {},
  pid: 7,
  registryConfigDirs: undefined,
};
const SOCKET = '/run/nodelet/runtime.sock';
const AGENT = { pid: 42, use: 'agent' } as const;

test('withImages() uses the runtime that owns the folders, and does not touch them', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/run/nodelet');
  const listed = { id: 'sha256:1', tags: ['localhost/a:1'], digests: [], sizeBytes: 7, pinned: false };
  await serveImages(host, SOCKET, Promise.resolve(fakeImageOperations({ list: async () => [listed] })), AGENT);
  assert.deepEqual(await withImages({ host, ...FOLDERS }, (images) => images.list({}, signal), signal), [listed]);
  assert.equal(await host.fs.stat(FOLDERS.rootDir), undefined);
  assert.equal((await host.fs.stat(SOCKET))?.kind, 'socket');
});

test('withImages() rejects settings that the owner does not use', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/run/nodelet');
  await serveImages(host, SOCKET, Promise.resolve(fakeImageOperations()), AGENT);
  const asked = withImages(
    { host, ...FOLDERS, registryConfigDirs: ['/d'] },
    (images) => images.list({}, signal),
    signal,
  );
  await assert.rejects(asked, {
    code: 'FailedPrecondition',
    message: 'a runtime is running on these folders and uses its own --registry-config-dir',
  });
});

test('withImages() owns free folders for as long as it needs them', async () => {
  const host = createMemoryHost();
  const within = withImages(
    { host, ...FOLDERS },
    async (images) => {
      // A second command uses the images of this one.
      const others = await withImages({ host, ...FOLDERS }, (theirs) => theirs.list({}, signal), signal);
      assert.equal((await host.fs.stat(SOCKET))?.kind, 'socket');
      return [await images.list({}, signal), others];
    },
    signal,
  );
  assert.deepEqual(await within, [[], []]);
  assert.equal(await host.fs.stat(SOCKET), undefined);
  assert.deepEqual(await host.fs.readDirectory('/var/lib/nodelet/runtime/storage/unfinished'), []);
});

test('withImages() replaces the socket of an owner that was killed', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/run/nodelet');
  await host.network.serve({ socketPath: SOCKET, mode: 0o600 }, async () => assert.fail('the server is lost'));
  host.network.killServers();
  assert.deepEqual(await withImages({ host, ...FOLDERS }, (images) => images.list({}, signal), signal), []);
});

test('withImages() releases the folders when the operation fails', async () => {
  const host = createMemoryHost();
  const failed = withImages({ host, ...FOLDERS }, () => Promise.reject(new Error('no')), signal);
  await assert.rejects(failed, /no/);
  assert.equal(await host.fs.stat(SOCKET), undefined);
});

test('withImages() uses the process that claimed the folders first', async () => {
  const host = createMemoryHost();
  const all = Array.from({ length: 5 }, () =>
    withImages({ host, ...FOLDERS }, (images) => images.list({}, signal), signal),
  );
  assert.deepEqual(await Promise.all(all), [[], [], [], [], []]);
  assert.equal(await host.fs.stat(SOCKET), undefined);
});

test('withImages() stays the owner until the requests of other processes are answered', async () => {
  const host = createMemoryHost();
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  async function* slow() {
    yield new Uint8Array(10);
    asked.resolve();
    await go.promise;
  }
  let others: Promise<unknown> | undefined;
  const own = withImages(
    { host, ...FOLDERS },
    async () => {
      others = withImages({ host, ...FOLDERS }, (theirs) => theirs.load({ bytes: slow() }, signal), signal);
      await asked.promise;
    },
    signal,
  );
  await asked.promise;
  await host.clock.advance(1000);
  assert.equal((await host.fs.stat(SOCKET))?.kind, 'socket');
  go.resolve();
  await own;
  await assert.rejects(others ?? assert.fail(), { message: /^cannot load standard input: / });
  assert.equal(await host.fs.stat(SOCKET), undefined);
});

test('withImages() rejects a root that an agent owns with a different state folder', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/var/lib/nodelet/runtime');
  await using _agent = await host.folderClaims.claim('/var/lib/nodelet/runtime', 'agent');
  await assert.rejects(
    withImages({ host, ...FOLDERS }, () => assert.fail(), signal),
    { message: '/var/lib/nodelet is in use by another agent (pid 1); its --state is not /run/nodelet' },
  );
  assert.equal(await host.fs.stat(SOCKET), undefined);
});
