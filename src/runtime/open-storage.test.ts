import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { silentLog } from '../base/log.ts';
import { createMemoryHost, type MemoryHost } from '../host/fake/memory-host.ts';
import { NetworkError } from '../host/network.ts';
import {
  buildConfig,
  buildDockerArchive,
  buildLayer,
  buildOciArchive,
  type FakeImage,
} from './images/fake/image-archives.ts';
import { openStorage, type Storage, type StorageParts } from './open-storage.ts';
import { chainIds, digestOf, hexOf } from './storage/digest.ts';

const ROOT = '/var/lib/storage';
const HOUR_MS = 60 * 60_000;
const signal = new AbortController().signal;

function open(host: MemoryHost, more: Partial<StorageParts> = {}): Promise<Storage> {
  const settings = { pinnedImages: ['pause:1'] };
  return openStorage({ ...host, log: silentLog, paths: { storage: ROOT }, settings, architecture: 'amd64', ...more });
}

async function twoLayers(more: Partial<FakeImage> = {}): Promise<FakeImage> {
  const layers = [await buildLayer({ bin: null, 'bin/sh': 'shell', etc: 'old' }), await buildLayer({ etc: 'new' })];
  return { names: ['app:1'], layers, config: { Cmd: ['sh'], User: '7' }, ...more };
}

/** Files below the storage directory, except for the directories of the layout. */
async function leftovers({ fs, clock }: MemoryHost, storage: Storage): Promise<readonly string[]> {
  await storage.settled();
  clock.jump(2 * HOUR_MS); // past the age at which unused layers are removed
  await storage.sweep();
  const found: string[] = [];
  for await (const { path, node } of fs.readTree(ROOT, signal)) if (node.kind !== 'directory') found.push(path);
  const layers = await fs.readDirectory(`${ROOT}/layers/overlay`);
  return [...found, ...layers.map(({ name }) => name)].filter((name) => name !== 'empty');
}

const archives: Record<string, { make: () => Promise<Uint8Array>; tags: readonly string[] }> = {
  'OCI layout': {
    make: async () => buildOciArchive(await twoLayers()),
    tags: ['docker.io/library/app:1'],
  },
  'OCI layout with two names for one image': {
    make: async () => buildOciArchive(await twoLayers({ names: ['app:1', 'registry.local:5000/app:2'] })),
    tags: ['docker.io/library/app:1', 'registry.local:5000/app:2'],
  },
  'OCI layout with compressed layers': {
    make: async () => {
      const image = await twoLayers();
      const [low, high] = image.layers;
      return buildOciArchive({ ...image, blobs: [gzipSync(low ?? ''), zstdCompressSync(high ?? '')] });
    },
    tags: ['docker.io/library/app:1'],
  },
  'OCI layout, compressed as a whole': {
    make: async () => gzipSync(await buildOciArchive(await twoLayers())),
    tags: ['docker.io/library/app:1'],
  },
  'OCI layout with an image of another architecture': {
    make: async () =>
      buildOciArchive(await twoLayers({ architecture: 's390x', names: ['other:1'] }), await twoLayers()),
    tags: ['docker.io/library/app:1'],
  },
  'OCI layout without a name': { make: async () => buildOciArchive(await twoLayers({ names: [] })), tags: [] },
  'docker save': { make: async () => buildDockerArchive(await twoLayers()), tags: ['docker.io/library/app:1'] },
};
for (const [name, { make, tags }] of Object.entries(archives)) {
  test(`openStorage() loads an archive: ${name}`, async () => {
    const host = createMemoryHost();
    const storage = await open(host);
    await host.fs.writeFile('/image.tar', await make());
    const loaded = await storage.loader.loadArchive('/image.tar', {}, signal);
    const id = digestOf(buildConfig(await twoLayers()));
    assert.deepEqual(
      loaded.map((image) => [image.id, image.repoTags, image.references]),
      [[id, tags, tags]],
    );
    await storage.snapshots.mount({ containerId: 'c', imageId: id, target: '/c' }, signal);
    assert.deepEqual([await host.fs.readText('/c/bin/sh'), await host.fs.readText('/c/etc')], ['shell', 'new']);
    const { references: _, ...stored } = loaded[0] ?? assert.fail('nothing is loaded');
    assert.deepEqual((await open(host)).images.find(id), stored);
  });
}

test('openStorage() loads several images, which share their layers', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const one = await twoLayers();
  const other = { ...one, names: ['other:1'], layers: [...one.layers, await buildLayer({ more: '' })] };
  await storage.loader.loadArchive(await buildOciArchive(one, other), {}, signal);
  const service = storage.imageService();
  assert.equal(
    (await host.fs.readDirectory(`${ROOT}/layers/overlay`)).filter(({ kind }) => kind === 'directory').length,
    4,
  );
  await service.removeImage({ image: imageSpec('app:1') }, signal);
  assert.equal(
    (await host.fs.readDirectory(`${ROOT}/layers/overlay`)).filter(({ kind }) => kind === 'directory').length,
    4,
  );
  await service.removeImage({ image: imageSpec('other:1') }, signal);
  assert.deepEqual(await leftovers(host, storage), []);
});

const wrong: Record<string, { make: () => Promise<Uint8Array>; message: RegExp }> = {
  'a layer with another digest than in the configuration': {
    make: async () => {
      const image = await twoLayers();
      return buildOciArchive({ ...image, diffIds: [digestOf('x'), digestOf('y')] });
    },
    message: /layer: has digest sha256:.*, expected sha256:/,
  },
  'fewer layers than in the configuration': {
    make: async () => {
      const image = await twoLayers();
      return buildOciArchive({ ...image, diffIds: [...image.layers.map(digestOf), digestOf('x')] });
    },
    message: /2 layers, but its configuration lists 3/,
  },
  'a layer that leaves its root': {
    make: async () => buildOciArchive({ layers: [await buildLayer({ '../x': '' })] }),
    message: /leads out/,
  },
  'only images of other architectures': {
    make: async () => buildOciArchive(await twoLayers({ architecture: 's390x' })),
    message: /no image for linux\/amd64 in the archive, only linux\/s390x/,
  },
  'more layers than can be mounted': {
    make: async () => {
      const layer = await buildLayer({ a: '' });
      return buildOciArchive({ layers: Array.from({ length: 161 }, () => layer) });
    },
    message: /161 layers, more than 160/,
  },
  'an archive without an end': {
    make: async () =>
      buildOciArchive({ layers: [Buffer.concat([await buildLayer({ a: '' }), Buffer.alloc(65 * 2 ** 20)])] }),
    message: /bytes after the end of the archive/,
  },
  'no image at all': { make: () => buildLayer({ readme: 'x' }), message: /neither index\.json nor manifest\.json/ },
  'a truncated archive': {
    make: async () => (await buildOciArchive(await twoLayers())).subarray(0, 3000),
    message: /unexpected end|no index/i,
  },
};
for (const [name, { make, message }] of Object.entries(wrong)) {
  test(`openStorage() rejects ${name}, and leaves nothing`, async () => {
    const host = createMemoryHost();
    const storage = await open(host);
    await assert.rejects(storage.loader.loadArchive(await make(), {}, signal), { message });
    assert.deepEqual(storage.images.list(), []);
    assert.deepEqual(await leftovers(host, storage), []);
  });
}

test('openStorage() leaves no temporary files when it is closed', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers()), {}, signal);
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
  await storage.snapshots.unmount('/c');
  await storage.snapshots.remove('c');
  await storage.close();
  assert.deepEqual(await host.fs.readDirectory(`${ROOT}/unfinished`), []);
});

test('openStorage() changes nothing outside for a layer that replaces a directory by a link', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/etc/ssh', 0o755);
  const open1000 = { kind: 'directory', mode: 0o777, uid: 1000, gid: 1000 } as const;
  const layers = [
    await buildLayer({ x: open1000, 'x/ssh': open1000, 'y/z': open1000 }),
    await buildLayer({ 'x/ssh/key': '', x: { kind: 'symlink', target: '/etc' }, 'y/z/file': '' }),
  ];
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive({ names: ['app:1'], layers }), {}, signal);
  for (const path of ['/etc', '/etc/ssh']) {
    const { mode, uid } = (await host.fs.lstat(path)) ?? {};
    assert.deepEqual([mode, uid], [0o755, 0], path);
  }
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
  const { mode, uid } = (await host.fs.lstat('/c/y/z')) ?? {};
  assert.deepEqual([mode, uid], [0o777, 1000], 'a directory that is not in the archive is unchanged');
});

test('openStorage() reads nothing outside for a directory that is a link in a lower layer', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/etc/ssh', 0o700);
  const layers = [await buildLayer({ x: { kind: 'symlink', target: '/etc' } }), await buildLayer({ 'x/ssh/key': '' })];
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive({ names: ['app:1'], layers }), {}, signal);
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
  assert.equal((await host.fs.lstat('/c/x/ssh'))?.mode, 0o755);
});

test('openStorage() lists no image whose loading was interrupted at any point', async () => {
  const archive = await buildOciArchive(await twoLayers());
  const operations = ['rename', 'writeAtomic', 'writeReplacing', 'makeDirectory', 'treeUsage', 'writeTree'] as const;
  for (const operation of operations) {
    for (let skipped = 0; skipped < 3; skipped++) {
      const world = createMemoryHost();

      let [count, isDead] = [0, false];
      // From that operation on every operation fails, including cleanups, as if the process had been killed.
      const fs = new Proxy(world.fs, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key, target);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]) => {
            if (key === operation && count++ === skipped) isDead = true;
            return isDead ? Promise.reject(new Error('killed')) : value.apply(target, args);
          };
        },
      });
      const doomed = await open(world, { fs }).catch(() => undefined);
      const loaded = await doomed?.loader.loadArchive(archive, {}, signal).catch(() => undefined);
      const after = await open(world);
      const shown = after.images.list().map(({ repoTags }) => repoTags);
      assert.ok(loaded === undefined || shown.length === 1, `${operation} ${skipped}`);
      if (shown.length === 0) assert.deepEqual(await leftovers(world, after), [], `${operation} ${skipped}`);
      const again = await after.loader.loadArchive(archive, {}, signal);
      assert.deepEqual(again[0]?.repoTags, ['docker.io/library/app:1']);
      await after.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
      assert.equal(await world.fs.readText('/c/etc'), 'new');
    }
  }
});

test('openStorage() keeps complete layers of an image for a retry, and does not fetch them again', async () => {
  const host = createMemoryHost();
  const image = await twoLayers();
  const opened: number[] = [];
  const load = (storage: Storage, isCut: boolean) => {
    const layers = image.layers.map((layer, index) => ({
      open: async function* () {
        opened.push(index);
        yield isCut && index === 1 ? layer.subarray(0, 700) : layer;
        if (!isCut || index === 0) return;
        const first = hexOf(digestOf(image.layers[0] ?? ''));
        for await (const _ of host.fs.watch(`${ROOT}/layers/overlay`, signal)) {
          if ((await host.fs.lstat(`${ROOT}/layers/overlay/${first}`)) !== undefined) break;
        }
        throw new NetworkError('ECONNRESET', 'the registry is gone');
      },
    }));
    return storage.ingest.ingest({ references: ['app:1'], config: buildConfig(image), layers, sizeBytes: 1 }, signal);
  };
  await assert.rejects(load(await open(host), true), { message: 'the registry is gone' });
  const next = await open(host);
  await next.sweep();
  await load(next, false);
  assert.deepEqual(opened, [0, 1, 1]);
});

test('openStorage() does not copy layers that do not fit on the disk', async () => {
  const host = createMemoryHost();
  const storage = await open(host, { driver: 'native' });
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers()), {}, signal);
  host.fs.setUsage('/', { capacityBytes: 2 ** 40, availableBytes: 2 ** 30, inodes: 0, inodesFree: 0 });
  const mounted = storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
  await assert.rejects(mounted, { name: 'SpaceError' });
});

test('openStorage() answers a removal before the files are deleted; the next process finishes it', async () => {
  const host = createMemoryHost();
  const { promise: never } = Promise.withResolvers<void>();
  const removeTree = (path: string) => (path.includes('/unfinished/') ? never : host.fs.removeTree(path));
  const fs = new Proxy(host.fs, {
    get: (target, key) => {
      const value: unknown = key === 'removeTree' ? removeTree : Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const storage = await open(host, { fs, driver: 'native' });
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers()), {}, signal);
  await storage.imageService().removeImage({ image: imageSpec('app:1') }, signal);
  assert.deepEqual(await host.fs.readDirectory(`${ROOT}/layers/native`), [{ name: 'empty', kind: 'directory' }]);
  assert.equal((await storage.imageService().imageFsInfo({}, signal)).imageFilesystems[0]?.usedBytes?.value, 0n);
  const next = await open(host);
  await next.sweep();
  assert.equal((await host.fs.readDirectory(`${ROOT}/unfinished`)).length, 1);
});

test('openStorage() sweeps what a killed process left beside layers and images', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers()), {}, signal);
  const names = async () =>
    (
      await Promise.all(['images', 'layers/overlay'].map((folder) => host.fs.readDirectory(`${ROOT}/${folder}`)))
    ).flat();
  const before = await names();
  const hex = 'ab'.repeat(32);
  for (const name of [
    `images/.${hex}.json.tmp`,
    ...['.json', '.tar-frame', '.tar-kept'].map((end) => `layers/overlay/${hex}${end}`),
  ])
    await host.fs.writeFile(`${ROOT}/${name}`, 'half');
  await host.fs.writeFile(`${ROOT}/layers/overlay/.${hex}.json.tmp`, 'half');
  await (await open(host)).sweep();
  assert.deepEqual(await names(), before);
});

test('openStorage() leaves nothing of an image that does not fit on the disk', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const gibibyte = 2 ** 30;
  host.fs.setUsage('/', { capacityBytes: 100 * gibibyte, availableBytes: gibibyte + 4000, inodes: 0, inodesFree: 0 });
  const layers = [await buildLayer({ small: 'x' }), await buildLayer({ big: 'x'.repeat(5000) })];
  await assert.rejects(storage.loader.loadArchive(await buildOciArchive({ layers }), {}, signal), {
    name: 'SpaceError',
    message: `no space left on device: ${ROOT} has 1024 MiB, of which 1024 MiB stay free`,
  });
  assert.deepEqual(
    (await host.fs.readDirectory(`${ROOT}/layers/overlay`)).map(({ name }) => name),
    ['empty'],
  );
});

test('openStorage() moves a name to the newest image, also across a restart', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers()), {}, signal);
  const newer = await twoLayers({ config: { Cmd: ['newer'] } });
  await storage.loader.loadArchive(await buildOciArchive(newer), {}, signal);
  for (const each of [storage, await open(host)]) {
    assert.deepEqual(each.images.find('app:1')?.config.cmd, ['newer']);
    assert.deepEqual(
      each.images
        .list()
        .map(({ repoTags }) => repoTags.length)
        .sort(),
      [0, 1],
    );
  }
});

test('openStorage() adds a name to an image, which another image may have had', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const other = await twoLayers({ names: ['other:1'], config: { Cmd: ['other'] } });
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers(), other), {}, signal);
  await storage.tag('app:1', 'other:1');
  for (const each of [storage, await open(host)]) {
    assert.deepEqual(each.images.find('app:1')?.repoTags, ['docker.io/library/app:1', 'docker.io/library/other:1']);
    assert.deepEqual(each.images.find('other:1')?.config.cmd, ['sh']);
  }
  await assert.rejects(storage.tag('none:1', 'x:1'), { code: 'NotFound' });
  await assert.rejects(storage.tag('app:1', 'NOT A NAME'), { code: 'InvalidArgument' });
});

test('openStorage() keeps the layers of containers whose image is gone', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const image = await twoLayers();
  await storage.loader.loadArchive(await buildOciArchive(image), {}, signal);
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
  await storage.imageService().removeImage({ image: imageSpec('app:1') }, signal);
  const top = hexOf(chainIds(image.layers.map(digestOf)).at(-1) ?? '');
  const again = await open(host);
  await again.sweep();
  assert.equal((await host.fs.stat(`${ROOT}/layers/overlay/${top}`))?.kind, 'directory');
  assert.deepEqual(await again.snapshots.list(), ['c']);
  await again.snapshots.unmount('/c');
  await again.snapshots.remove('c');
  assert.deepEqual(await leftovers(host, again), []);
});

test('openStorage() unpacks a layer once for concurrent requests', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const archive = await buildOciArchive(await twoLayers());
  const all = await Promise.all([1, 2, 3].map(() => storage.loader.loadArchive(archive, {}, signal)));
  assert.equal(new Set(all.map(([image]) => image?.id)).size, 1);
  assert.equal(storage.images.list().length, 1);
});

test('openStorage() stops loading when the signal aborts, and can load later', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const archive = await buildOciArchive(await twoLayers());
  await assert.rejects(storage.loader.loadArchive(archive, {}, AbortSignal.abort(new Error('enough'))), /enough/);
  assert.deepEqual(storage.images.list(), []);
  assert.equal((await storage.loader.loadArchive(archive, {}, signal)).length, 1);
});

test('openStorage() gives directories that are not in a layer the attributes of the lower layer', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const low = await buildLayer({
    './': { kind: 'directory', mode: 0o711 },
    data: { kind: 'directory', mode: 0o1777, uid: 5, gid: 6 },
  });
  const image = { names: ['app:1'], layers: [low, await buildLayer({ 'data/file': '' })] };
  await storage.loader.loadArchive(await buildOciArchive(image), {}, signal);
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
  const [root, data] = [await host.fs.stat('/c'), await host.fs.stat('/c/data')];
  assert.deepEqual([root?.mode, data?.mode, data?.uid, data?.gid], [0o711, 0o1777, 5, 6]);
});

test('openStorage() builds an image reproducibly from a directory or an archive', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await host.fs.makeDirectory('/rootfs/bin');
  await host.fs.writeFile('/rootfs/bin/sh', 'shell', { mode: 0o755 });
  await host.fs.writeFile('/rootfs.tar', gzipSync(await buildLayer({ bin: null, 'bin/sh': 'shell' })));
  const options = { reference: 'built:1', cmd: ['/bin/sh'], env: ['A=b'], user: '5' };
  const first = await storage.loader.buildFromRootfs('/rootfs', options, signal);
  const second = await storage.loader.buildFromRootfs('/rootfs', options, signal);
  const packed = await storage.loader.buildFromRootfs('/rootfs.tar', { reference: 'packed:1' }, signal);
  assert.equal(first.id, second.id);
  assert.deepEqual([first.config.cmd, first.config.env, first.config.user], [['/bin/sh'], ['A=b'], '5']);
  await storage.snapshots.mount({ containerId: 'c', imageId: packed.id, target: '/c' }, signal);
  assert.equal(await host.fs.readText('/c/bin/sh'), 'shell');
});

for (const driver of ['overlayfs', 'native'] as const) {
  test(`openStorage() with ${driver}: mounts, removes, lists images`, async () => {
    const host = createMemoryHost();
    const storage = await open(host, { driver });
    assert.equal(storage.snapshots.driver, driver);
    const layers = [
      await buildLayer({ a: null, 'a/one': '1', 'a/two': '2', b: null, 'b/old': '', c: 'file' }),
      await buildLayer({ 'a/.wh.one': '', b: null, 'b/.wh..wh..opq': '', 'b/new': '', '.wh.c': '' }),
    ];
    const [image] = await storage.loader.loadArchive(await buildOciArchive({ names: ['app:1'], layers }), {}, signal);
    const request = { containerId: 'c1', imageId: image?.id ?? '', target: '/c1' };
    await storage.snapshots.mount(request, signal);
    await storage.snapshots.mount(request, signal);
    const names = async (path: string) => (await host.fs.readDirectory(path)).map(({ name }) => name);
    assert.deepEqual([await names('/c1'), await names('/c1/a'), await names('/c1/b')], [['a', 'b'], ['two'], ['new']]);
    assert.equal((await host.mounts.list()).filter(({ target }) => target === '/c1').length, 1);

    await storage.snapshots.mountImage({ imageId: 'app:1', target: '/view' }, signal);
    assert.deepEqual(await names('/view/a'), ['two']);
    await assert.rejects(host.fs.writeFile('/view/a/two', ''), { code: 'EROFS' });
    await storage.snapshots.unmount('/view');

    const idMap = {
      uids: [{ containerId: 0, hostId: 1000, length: 10 }],
      gids: [{ containerId: 0, hostId: 2000, length: 10 }],
    };
    await storage.snapshots.mount({ ...request, containerId: 'c2', target: '/c2', idMap }, signal);
    for (const path of ['/c2', '/c2/a/two']) {
      const { uid, gid } = (await host.fs.stat(path)) ?? {};
      assert.deepEqual([uid, gid], [1000, 2000], path);
    }
    await storage.snapshots.mountImage({ imageId: 'app:1', target: '/mapped', idMap }, signal);
    assert.deepEqual([(await host.fs.stat('/mapped/a/two'))?.uid, await names('/mapped/a')], [1000, ['two']]);
    await assert.rejects(host.fs.writeFile('/mapped/a/two', ''), { code: 'EROFS' });
    await storage.snapshots.unmount('/mapped');
    assert.deepEqual(await storage.snapshots.list(), ['c1', 'c2']);
    assert.ok((await storage.snapshots.usage('c1')).inodes >= 1);
    for (const id of ['c1', 'c2', 'c2', 'unknown']) {
      await storage.snapshots.unmount(`/${id}`);
      await storage.snapshots.remove(id);
    }
    assert.deepEqual(await storage.snapshots.list(), []);
    assert.deepEqual((await host.mounts.list()).length, 1);
  });
}

test('openStorage() copies if the kernel cannot map ids', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers()), {}, signal);
  const range = { containerId: 0, hostId: 1000, length: 10 };
  const request = { containerId: 'c', imageId: 'app:1', target: '/c', idMap: { uids: [range], gids: [range] } };
  host.mounts.errors.failNext('mount', 'EINVAL', '/c');
  await storage.snapshots.mount(request, signal);
  assert.equal((await host.fs.stat('/c/bin/sh'))?.uid, 1000);
  assert.equal(await host.fs.readText('/c/etc'), 'new');
  await host.fs.writeFile('/c/etc', 'changed');
  await storage.snapshots.unmount('/c');
  await storage.snapshots.mount(request, signal);
  assert.equal(await host.fs.readText('/c/etc'), 'changed');
  host.mounts.errors.failNext('mount', 'EINVAL', '/view');
  await storage.snapshots.mountImage({ ...request, target: '/view' }, signal);
  assert.equal((await host.fs.stat('/view/bin/sh'))?.uid, 1000);
  await storage.snapshots.unmount('/view');
  await storage.snapshots.unmount('/c');
  await storage.snapshots.remove('c');
  assert.equal((await host.mounts.list()).length, 1);
});

test('openStorage() uses the native driver if overlayfs does not work', async () => {
  const host = createMemoryHost();
  for (let attempt = 0; attempt < 4; attempt++) host.mounts.errors.failNext('mount', 'ENODEV');
  assert.equal((await open(host)).snapshots.driver, 'native');
});

test('openStorage() hides a removed writable layer at once, and deletes the rest at the next start', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers()), {}, signal);
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/c' }, signal);
  await storage.snapshots.unmount('/c');
  host.fs.errors.failNext('removeTree', 'EIO');
  await storage.snapshots.remove('c');
  await storage.settled();
  assert.deepEqual(await storage.snapshots.list(), []);
  const unfinished = async () => {
    const processes = await host.fs.readDirectory(`${ROOT}/unfinished`);
    const names = processes.map(({ name }) => host.fs.readDirectory(`${ROOT}/unfinished/${name}`));
    return (await Promise.all(names)).flat().length;
  };
  assert.equal(await unfinished(), 1);
  await (await open(host)).sweep();
  assert.equal(await unfinished(), 0);
});

test('sweep() removes temporary mounts of a previous process', async () => {
  const host = createMemoryHost();
  const place = `${ROOT}/unfinished/0123456789abcdef/layers-x`;
  await host.fs.makeDirectory(place);
  await host.mounts.mount({ source: 'tmpfs', target: place, type: 'tmpfs' });
  const storage = await open(host);
  await storage.sweep();
  assert.equal(await host.fs.stat(`${ROOT}/unfinished/0123456789abcdef`), undefined);
  assert.equal(
    (await host.mounts.list()).some(({ target }) => target === place),
    false,
  );
});

test('untag() removes one of several names, but never the last', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive(await twoLayers({ names: ['app:1', 'app:2'] })), {}, signal);
  assert.deepEqual((await storage.untag('app:2'))?.repoTags, ['docker.io/library/app:1']);
  assert.equal(storage.images.find('app:2'), undefined);
  assert.equal(await storage.untag('app:1'), undefined);
  assert.equal(await storage.untag(storage.images.list()[0]?.id ?? ''), undefined);
  assert.deepEqual((await open(host)).images.list()[0]?.repoTags, ['docker.io/library/app:1']);
});

test('openStorage() mounts an image without layers, and rejects an unknown one', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive({ names: ['empty:1'], layers: [] }), {}, signal);
  await storage.snapshots.mount({ containerId: 'c', imageId: 'empty:1', target: '/c' }, signal);
  assert.deepEqual(await host.fs.readDirectory('/c'), []);
  const unknown = storage.snapshots.mount({ containerId: 'd', imageId: 'none:1', target: '/d' }, signal);
  await assert.rejects(unknown, { name: 'CriError', code: 'NotFound' });
  assert.deepEqual(await storage.snapshots.list(), ['c']);
});

function imageSpec(image: string) {
  return { image, annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' };
}

test('openStorage() on a full disk uses the existing layers, and containers and images can be removed', async () => {
  const host = createMemoryHost();
  const before = await open(host);
  await host.fs.writeFile('/image.tar', await buildOciArchive(await twoLayers()));
  await before.loader.loadArchive('/image.tar', {}, signal);
  await before.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: '/run/c/rootfs' }, signal);
  await before.close();
  host.fs.fullFolder = ROOT;
  const storage = await open(host);
  assert.equal(storage.snapshots.driver, 'overlayfs');
  assert.equal(storage.images.list().length, 1);
  await storage.snapshots.unmount('/run/c/rootfs');
  await storage.snapshots.remove('c');
  await storage.imageService().removeImage({ image: imageSpec('app:1') }, signal);
  await storage.settled();
  assert.deepEqual(await storage.snapshots.list(), []);
  host.fs.fullFolder = undefined;
  await storage.loader.loadArchive('/image.tar', {}, signal);
  assert.equal(storage.images.list().length, 1);
});

test('openStorage() on a full disk without any layer fails', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory(ROOT);
  host.fs.fullFolder = ROOT;
  await assert.rejects(open(host), { code: 'ENOSPC' });
});
