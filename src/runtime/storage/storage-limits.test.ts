/** Input that would exhaust memory or disk, or leave the storage in a state from which it does not recover. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import {
  buildArchive,
  buildConfig,
  buildLayer,
  buildOciArchive,
  type FakeFiles,
} from '../images/fake/image-archives.ts';
import { openStorage, type Storage } from '../open-storage.ts';
import { chainIds, digestOf, hexOf } from './digest.ts';

const ROOT = '/storage';
const GIBIBYTE = 2 ** 30;
const signal = new AbortController().signal;

function open(host: MemoryHost): Promise<Storage> {
  const settings = { pinnedImages: [] };
  return openStorage({ ...host, log: silentLog, paths: { storage: ROOT }, settings, architecture: 'amd64' });
}

async function load(storage: Storage, ...layers: readonly Uint8Array[]): Promise<void> {
  await storage.loader.loadArchive(await buildOciArchive({ names: ['app:1'], layers }), {}, signal);
}

async function save(storage: Storage): Promise<number> {
  let bytes = 0;
  for await (const part of storage.exporter.archive(['app:1'], signal)) bytes += part.byteLength;
  return bytes;
}

async function layerFiles({ fs }: MemoryHost): Promise<readonly string[]> {
  const names = (await fs.readDirectory(`${ROOT}/layers/overlay`)).map(({ name }) => name);
  return names.filter((name) => name !== 'empty').map((name) => name.replace(/^[0-9a-f]+/, ''));
}

function imageSpec(image: string) {
  return { image, annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' };
}

async function withoutEnd(files: FakeFiles): Promise<Uint8Array> {
  return (await buildLayer(files)).subarray(0, -1024);
}

/** Returns a sparse file described by pax records. */
async function sparse(name: string, size: number, map = `${size},0`, content = ''): Promise<Uint8Array> {
  const records = Object.entries({ map, size, name }).map(([key, value]) => {
    const rest = ` GNU.sparse.${key}=${value}\n`;
    return `${rest.length + 2}${rest}`;
  });
  const header = Buffer.from(await withoutEnd({ pax: records.join('') }));
  header.write('x', 156);
  header.write(' '.repeat(8), 148);
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0`, 148);
  return Buffer.concat([header, await withoutEnd({ [name]: content })]);
}

test('a replaced sparse file is not copied as zeros; the image cannot be exported then', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const append = host.fs.appendFile.bind(host.fs);
  let appended = 0;
  host.fs.appendFile = (path, data) => {
    appended += data.length;
    return append(path, data);
  };
  const parts = [await sparse('a', 50_000_000), await withoutEnd({ a: 'x' }), new Uint8Array(1024)];
  await load(storage, Buffer.concat(parts));
  assert.ok(appended < 10_000, `${appended} bytes were written`);
  assert.deepEqual(await layerFiles(host), ['', '.json']);
  await assert.rejects(save(storage), { code: 'FailedPrecondition' });
});

test('a small replaced sparse file is copied', async () => {
  const storage = await open(createMemoryHost());
  const parts = [await withoutEnd({ b: 'y'.repeat(900) }), await sparse('a', 500), await withoutEnd({ a: 'x' })];
  await load(storage, Buffer.concat([...parts, new Uint8Array(1024)]));
  assert.ok((await save(storage)) > 0);
});

test('copies of replaced contents are checked for space too', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const [first, second] = [await withoutEnd({ a: 'x'.repeat(9000) }), await buildLayer({ a: 'y' })];
  let room = first.byteLength + second.byteLength;
  host.fs.usage = async () => {
    const availableBytes = GIBIBYTE + room;
    room = 0; // once the layer has been received
    return { capacityBytes: 100 * GIBIBYTE, availableBytes, usedBytes: 0, inodes: 0, inodesFree: 0 };
  };
  await assert.rejects(load(storage, Buffer.concat([first, second])), { name: 'SpaceError' });
  assert.deepEqual(await layerFiles(host), []);
});

test('a hole beyond the maximum file size is rejected', async () => {
  const storage = await open(createMemoryHost());
  const layer = Buffer.concat([await sparse('a', 2 ** 52, `${2 ** 51},1`, 'x'), new Uint8Array(1024)]);
  await assert.rejects(load(storage, layer), { name: 'TarError', message: /sparse/ });
});

test('configurations that an archive names repeatedly do not accumulate', async () => {
  const storage = await open(createMemoryHost());
  const config = Buffer.concat([buildConfig({ layers: [] }), Buffer.alloc(4_000_000, ' ')]);
  const entries = Array.from({ length: 50 }, () => ({ Config: 'c.json', RepoTags: [], Layers: [] }));
  const archive = await buildArchive([
    ['c.json', config],
    ['manifest.json', Buffer.from(JSON.stringify(entries))],
  ]);
  await assert.rejects(storage.loader.loadArchive(archive, {}, signal), { name: 'TarError', message: /manifests/ });
});

test('a layer that could not be removed is still stored, and is removed at the next attempt', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await load(storage, await buildLayer({ a: 'x' }));
  host.fs.errors.failNext('rename', 'ENOSPC');
  const remove = () => storage.imageService().removeImage({ image: imageSpec('app:1') }, signal);
  await assert.rejects(remove(), { code: 'ENOSPC' });
  await load(storage, await buildLayer({ a: 'x' }));
  assert.ok((await save(storage)) > 0);
  await remove();
  assert.deepEqual(await layerFiles(host), []);
});

test('an incomplete claim after a power loss does not block the removal of images', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory(`${ROOT}/snapshots/c`);
  await host.fs.writeFile(`${ROOT}/snapshots/c/layers`, '');
  const storage = await open(host);
  await load(storage, await buildLayer({ a: 'x' }));
  await storage.imageService().removeImage({ image: imageSpec('app:1') }, signal);
  assert.deepEqual(await layerFiles(host), []);
});

test('images can be removed after an error while loading references', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  await load(storage, await buildLayer({ a: 'x' }));
  host.fs.errors.failNext('readDirectory', 'EIO', `${ROOT}/snapshots`);
  await assert.rejects(storage.imageService().removeImage({ image: imageSpec('app:1') }, signal), { code: 'EIO' });
  await load(storage, await buildLayer({ a: 'x' }));
  await storage.imageService().removeImage({ image: imageSpec('app:1') }, signal);
  assert.deepEqual(await layerFiles(host), []);
});

test('whiteouts and their parent directories are checked for space', async () => {
  const host = createMemoryHost();
  const storage = await open(host);
  const whiteouts = Array.from({ length: 100 }, (_, number) => [`${number}/${'a/'.repeat(50)}.wh.x`, ''] as const);
  const layer = await buildLayer(Object.fromEntries(whiteouts));
  let checks = 0;
  host.fs.usage = async () => {
    const free = { capacityBytes: 9 * GIBIBYTE, availableBytes: 9 * GIBIBYTE, usedBytes: 0, inodes: 100_000 };
    return { ...free, inodesFree: checks++ < 2 ? 3000 : 1000 };
  };
  await assert.rejects(load(storage, layer), { name: 'SpaceError', message: /no more files fit/ });
  assert.deepEqual(await layerFiles(host), []);
});

for (const process of ['the same', 'the next']) {
  test(`layers of a removed image are removed with the last container or view, by ${process} process`, async () => {
    const host = createMemoryHost();
    let storage = await open(host);
    const layers = [await buildLayer({ a: 'x' }), await buildLayer({ b: 'y' })];
    await load(storage, ...layers);
    for (const containerId of ['c', 'd']) {
      await storage.snapshots.mount({ containerId, imageId: 'app:1', target: `/${containerId}` }, signal);
    }
    await storage.snapshots.mountImage({ imageId: 'app:1', target: '/view' }, signal);
    await storage.imageService().removeImage({ image: imageSpec('app:1') }, signal);
    if (process === 'the next') storage = await open(host);
    for (const containerId of ['c', 'd']) {
      await storage.snapshots.unmount(`/${containerId}`);
      await storage.snapshots.remove(containerId);
    }
    const top = hexOf(chainIds(layers.map(digestOf)).at(-1) ?? '');
    assert.equal((await host.fs.stat(`${ROOT}/layers/overlay/${top}`))?.kind, 'directory');
    await storage.snapshots.unmount('/view');
    assert.deepEqual(await layerFiles(host), []);
  });
}
