import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { imageApi } from './image-api.ts';
import { withImages } from './with-images.ts';

const signal = new AbortController().signal;
const FOLDERS = { rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };
const SOCKET = '/run/nodelet/runtime.sock';

test('withImages() asks the runtime that owns the folders, and does not touch them', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/run/nodelet');
  const refuse = async (): Promise<never> => assert.fail('nobody asked for this');
  const listed = { id: 'sha256:1', names: ['localhost/a:1'], sizeBytes: 7, pinned: false };
  const owner = { load: refuse, build: refuse, tag: refuse, remove: refuse, list: async () => [listed] };
  await host.network.serve({ socketPath: SOCKET, mode: 0o600 }, imageApi(owner));
  assert.deepEqual(await withImages({ host, ...FOLDERS }, (images) => images.list({}, signal), signal), [listed]);
  assert.equal(await host.fs.stat(FOLDERS.rootDir), undefined);
  assert.equal((await host.fs.stat(SOCKET))?.kind, 'socket');
});

test('withImages() owns folders that nobody owns, for as long as it needs them', async () => {
  const host = createMemoryHost();
  const within = withImages(
    { host, ...FOLDERS },
    async (images) => {
      // Whoever comes meanwhile asks this one.
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
  await host.network.serve({ socketPath: SOCKET, mode: 0o600 }, async () => assert.fail('it is dead'));
  host.network.loseServers();
  assert.deepEqual(await withImages({ host, ...FOLDERS }, (images) => images.list({}, signal), signal), []);
});

test('withImages() gives the folders back when what it was asked for fails', async () => {
  const host = createMemoryHost();
  const failed = withImages({ host, ...FOLDERS }, () => Promise.reject(new Error('no')), signal);
  await assert.rejects(failed, /no/);
  assert.equal(await host.fs.stat(SOCKET), undefined);
});
