import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { ImageSpec } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { openStorage, type Storage } from '../open-storage.ts';
import { chainIds, digestOf, hexOf } from '../storage/digest.ts';
import {
  buildArchive,
  buildConfig,
  buildLayer,
  buildOciArchive,
  type FakeFiles,
  type FakeImage,
} from './fake/image-archives.ts';

const signal = new AbortController().signal;

async function open(host: MemoryHost): Promise<Storage> {
  const settings = { pinnedImages: [] };
  return openStorage({ ...host, log: silentLog, paths: { storage: '/storage' }, settings, architecture: 'amd64' });
}

async function world(...images: readonly FakeImage[]): Promise<{ host: MemoryHost; storage: Storage }> {
  const host = createMemoryHost();
  const storage = await open(host);
  await storage.loader.loadArchive(await buildOciArchive(...images), {}, signal);
  return { host, storage };
}

async function save(storage: Storage, images: readonly string[]): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of storage.exporter.archive(images, signal)) parts.push(part);
  return new Uint8Array(Buffer.concat(parts));
}

async function image(files: FakeFiles, more: Partial<FakeImage> = {}): Promise<FakeImage> {
  return { names: ['app:1'], layers: [await buildLayer(files)], ...more };
}

const gone = { kind: 'characterDevice', major: 1, minor: 3 } as const;
const layers: Record<string, () => Promise<Uint8Array>> = {
  'files, directories and links': () =>
    buildLayer({
      a: null,
      'a/b': 'text',
      s: { kind: 'symlink', target: '/a' },
      h: { kind: 'hardLink', target: 'a/b' },
    }),
  'whiteouts and devices': () => buildLayer({ 'a/.wh..wh..opq': '', '.wh.b': 'with content', tty: gone }),
  'names with dots, and absolute': async () => buildLayer({ './a/../b': 'x', '/etc/passwd': 'y' }),
  'a file below a link': () =>
    buildLayer({ real: null, link: { kind: 'symlink', target: '/real' }, 'link/file': 'through it' }),
  'a name that is not UTF-8': () => buildLayer({ 'a\udcff': 'text', b: { kind: 'symlink', target: '\udce9' } }),
  'a file that comes twice': async () => twice({ a: 'first', b: 'between' }, { a: 'second', c: '' }),
  'a file that comes three times, once empty': async () => twice({ a: 'first' }, { a: '' }, { a: 'third' }),
  'a file that becomes a link': async () => twice({ a: 'first' }, { a: { kind: 'symlink', target: 'b' } }),
  'a file that becomes a directory': async () => twice({ a: 'first' }, { a: null, 'a/b': 'x' }),
  'a link replaced by a file': async () => twice({ a: { kind: 'symlink', target: 'b' } }, { a: 'x' }),
  'a file with two names, one of them written again': async () =>
    twice({ a: 'first', b: { kind: 'hardLink', target: 'a' } }, { a: 'second' }),
  'only an end marker': async () => new Uint8Array(1024),
  'long padding': async () => Buffer.concat([await buildLayer({ a: 'x' }), Buffer.alloc(20_480)]),
};

/** Concatenates archives without their end markers. */
async function twice(...parts: readonly FakeFiles[]): Promise<Uint8Array> {
  const all = await Promise.all(parts.map(buildLayer));
  return Buffer.concat([...all.map((part) => part.subarray(0, -1024)), new Uint8Array(1024)]);
}

for (const [name, make] of Object.entries(layers)) {
  test(`archive() rebuilds a layer byte for byte: ${name}`, async () => {
    const layer = await make();
    const { storage } = await world({ names: ['app:1'], layers: [layer] });
    const saved = await save(storage, ['app:1']);
    const other = await open(createMemoryHost());
    const [loaded] = await other.loader.loadArchive(saved, {}, signal);
    assert.deepEqual(loaded, storage.images.find('app:1') && { ...loaded, id: storage.images.find('app:1')?.id });
    assert.deepEqual(loaded?.repoTags, ['docker.io/library/app:1']);
    assert.deepEqual(await save(other, ['app:1']), saved, 'the same bytes again');
    assert.ok(Buffer.from(saved).includes(layer));
  });
}

test('archive() contains shared blobs once, and the requested names', async () => {
  const base = await buildLayer({ base: 'b' });
  const one: FakeImage = { names: ['app:1', 'reg.local:5000/app:2'], layers: [base] };
  const two: FakeImage = { names: ['two:1'], layers: [base, await buildLayer({ more: 'm' })] };
  const { storage } = await world(one, two);
  const twoId = digestOf(buildConfig(two));
  const saved = await save(storage, ['app:1', 'reg.local:5000/app:2', twoId, 'app:1']);
  assert.equal(
    Buffer.from(saved)
      .toString('latin1')
      .split(`blobs/sha256/${hexOf(digestOf(base))}\0`).length,
    2,
  );
  const other = await open(createMemoryHost());
  const loaded = await other.loader.loadArchive(saved, {}, signal);
  assert.deepEqual(
    loaded.map(({ id, repoTags }) => [id, repoTags]),
    [
      [digestOf(buildConfig(one)), ['docker.io/library/app:1', 'reg.local:5000/app:2']],
      [twoId, []],
    ],
  );
});

test('archive() is readable by Docker', async () => {
  const given = await image({ file: 'x' });
  const { storage } = await world(given);
  const saved = Buffer.from(await save(storage, ['app:1'])).toString('latin1');
  const [entry] = JSON.parse(/\[\{"Config".*?\}\]/.exec(saved)?.[0] ?? '[]');
  const layer = given.layers.map((each) => `blobs/sha256/${hexOf(digestOf(each))}`);
  const id = hexOf(digestOf(buildConfig(given)));
  assert.deepEqual(entry, { Config: `blobs/sha256/${id}`, RepoTags: ['app:1'], Layers: layer });
});

const rejected: Record<
  string,
  {
    given: () => Promise<FakeImage>;
    change?: (world: { host: MemoryHost; layer: string }) => Promise<void>;
    want: object;
  }
> = {
  'a missing image': {
    given: () => image({}, { names: ['other:1'] }),
    want: { code: 'NotFound', message: 'image "app:1" not found' },
  },
  'a layer stored by an earlier version': {
    given: () => image({ file: 'x' }),
    change: async ({ host, layer }) => {
      const { frame: _, ...file } = JSON.parse(await host.fs.readText(`${layer}.json`));
      await host.fs.writeAtomic(`${layer}.json`, JSON.stringify(file));
    },
    want: { code: 'FailedPrecondition', message: /docker\.io\/library\/app:1 cannot be saved.*removed and pulled/ },
  },
  'a layer with a directory that another member replaced': {
    given: async () => ({ names: ['app:1'], layers: [await twice({ 'a/file': 'lost' }, { a: 'x' })] }),
    want: { code: 'FailedPrecondition', message: /cannot be saved/ },
  },
  'an image that is removed meanwhile': {
    given: () => image({ file: 'x' }),
    change: async ({ host }) => {
      for (const { name } of await host.fs.readDirectory('/storage/images')) {
        await host.fs.remove(`/storage/images/${name}`);
      }
    },
    want: { code: 'NotFound', message: /was removed meanwhile/ },
  },
  'a file that became shorter': {
    given: () => image({ file: 'text' }),
    change: ({ host, layer }) => host.fs.writeFile(`${layer}/file`, 'te'),
    want: { code: 'DataLoss', message: /files of a layer were changed/ },
  },
  'a file that was changed': {
    given: () => image({ file: 'text' }),
    change: ({ host, layer }) => host.fs.writeFile(`${layer}/file`, 'tex!'),
    want: { code: 'DataLoss', message: /files of a layer were changed/ },
  },
};
for (const [name, { given, change, want }] of Object.entries(rejected)) {
  test(`archive() rejects ${name}`, async () => {
    const wrong = await given();
    const { host, storage } = await world(wrong);
    const [chain = ''] = chainIds(wrong.layers.map(digestOf));
    await change?.({ host, layer: `/storage/layers/overlay/${hexOf(chain)}` });
    await assert.rejects(save(storage, ['app:1']), want);
  });
}

test('archive() holds the layers until it has been read', async () => {
  const { host, storage } = await world(await image({ file: 'x'.repeat(2000) }));
  const reading = storage.exporter.archive(['app:1'], signal)[Symbol.asyncIterator]();
  const first = await reading.next();
  await storage.imageService().removeImage({ image: ImageSpec.create({ image: 'app:1' }) }, signal);
  const parts = [first.value];
  for (let next = await reading.next(); !next.done; next = await reading.next()) parts.push(next.value);
  const other = await open(createMemoryHost());
  assert.equal((await other.loader.loadArchive(Buffer.concat(parts), {}, signal)).length, 1);
  await storage.sweep();
  await storage.settled();
  const left = await host.fs.readDirectory('/storage/layers/overlay');
  assert.deepEqual(
    left.map(({ name }) => name),
    ['empty'],
  );
});

test('a configuration that is not UTF-8 is rejected', async () => {
  const config = Buffer.concat([buildConfig(await image({})), Buffer.from([0xff])]);
  const archive = await buildArchive([
    ['c.json', config],
    ['manifest.json', Buffer.from(JSON.stringify([{ Config: 'c.json', RepoTags: null, Layers: [] }]))],
  ]);
  const storage = await open(createMemoryHost());
  await assert.rejects(storage.loader.loadArchive(archive, {}, signal), { message: /not UTF-8/ });
});
