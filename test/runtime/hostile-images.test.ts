/**
 * Malicious layers, image archives and manifests: 2,000 of them, each on disk and in memory. None leads out of the
 * storage, each ends with an image or a plain error, and none leaves a file.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { silentLog } from '../../src/base/log.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import { ImageSpec } from '../../src/cri/generated/runtime-v1.ts';
import type { Clock } from '../../src/host/clock.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import type { FileSystem } from '../../src/host/file-system.ts';
import type { Host } from '../../src/host/host.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { buildArchive } from '../../src/runtime/images/fake/image-archives.ts';
import type { StoredImage } from '../../src/runtime/images/image-store.ts';
import { openStorage, type Storage } from '../../src/runtime/open-storage.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import { needsRoot } from '../contract/host/temporary-folder.ts';
import { damage, damaged, type HostileLayer, hostileLayer, layerBytes } from './hostile-archives.ts';

const signal = new AbortController().signal;
const SEED = 20_260;
/** Any other error is a bug of ours. */
const EXPECTED_ERRORS: ReadonlySet<string> = new Set([
  'CriError',
  'UnexpectedEofError',
  'DigestError',
  'FileSystemError',
  'SpaceError',
  'SyntaxError',
  'TarError',
]);

interface World {
  readonly fs: FileSystem;
  readonly storage: Storage;
  /** Directory of the storage. */
  readonly root: string;
  readonly outside: string;
  /** The content before the test. */
  readonly before: readonly unknown[];
}

async function makeWorld(host: Host, folder: string): Promise<World> {
  const { fs } = host;
  const [root, outside] = [`${folder}/storage`, `${folder}/outside`];
  await fs.makeDirectory(`${outside}/folder`);
  await fs.writeFile(`${outside}/secret`, 'secret', { mode: 0o600 });
  await fs.writeFile(`${outside}/folder/file`, 'more', { mode: 0o644 });
  const settings = { pinnedImages: [] };
  const storage = await openStorage({
    ...host,
    clock: { ...host.clock, now: () => host.clock.now() + 2 * 60 * 60_000 } as Clock, // no layer is kept for another attempt
    log: silentLog,
    paths: { storage: root },
    settings,
    architecture: 'amd64',
  });
  return { fs, storage, root, outside, before: await seen(fs, outside) };
}

async function seen(fs: FileSystem, folder: string): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { path, node } of fs.readTree(folder, signal)) {
    const { content, ...rest } = { content: undefined, ...node };
    const parts: Uint8Array[] = [];
    for await (const chunk of content ?? []) parts.push(chunk);
    found.push([path, { ...rest, xattrs: rest.xattrs && [...rest.xattrs] }, Buffer.concat(parts).toString()]);
  }
  return found;
}

/** Returns everything in the storage except the directories of its layout. */
async function left({ fs, root }: World): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { path } of fs.readTree(root, signal)) found.push(path);
  return found.filter(
    (path) => !/^((images|layers|snapshots|views|unfinished)(\/[^/]+)?|layers\/[^/]+\/empty)?$/.test(path),
  );
}

/** Loads an image and checks the result. */
async function attempt(
  world: World,
  load: (storage: Storage) => Promise<readonly StoredImage[]>,
): Promise<'in' | 'rejected'> {
  const { fs, storage, outside, before } = world;
  let outcome: 'in' | 'rejected' = 'rejected';
  try {
    const images = await load(storage);
    outcome = 'in';
    for (const { id } of images) await saves(storage, id);
  } catch (error) {
    const isKnown = error instanceof Error && (EXPECTED_ERRORS.has(error.name) || 'errno' in error);
    assert.ok(isKnown, error instanceof Error ? error : new Error(String(error)));
  }
  for (const { id } of storage.images.list()) {
    await storage.imageService().removeImage({ image: ImageSpec.create({ image: id }) }, signal);
  }
  await storage.sweep();
  await storage.settled();
  assert.deepEqual(await seen(fs, outside), before, 'outside');
  assert.deepEqual(await left(world), [], 'left');
  return outcome;
}

/** An image is exported as it was imported, or rejected with a reason; `archive` verifies every byte. */
async function saves(storage: Storage, id: string): Promise<void> {
  try {
    for await (const _ of storage.exporter.archive([id], signal));
  } catch (error) {
    if (!(error instanceof CriError) || error.code !== 'FailedPrecondition') throw new Error('save', { cause: error });
  }
}

type JsonChange = (json: string, what: 'config' | 'manifest' | 'index') => string;

async function imageOf(layers: readonly HostileLayer[], outside: string, change: JsonChange = (json) => json) {
  const made = layers.map((layer) => layerBytes(layer, outside));
  const config = Buffer.from(
    change(
      JSON.stringify({
        architecture: 'amd64',
        os: 'linux',
        config: { Cmd: ['sh'], User: '0' },
        rootfs: { type: 'layers', diff_ids: made.map(({ diffId }) => diffId) },
      }),
      'config',
    ),
  );
  const descriptor = (data: Uint8Array) => ({ mediaType: 'x', digest: digestOf(data), size: data.byteLength });
  const manifest = Buffer.from(
    change(
      JSON.stringify({
        schemaVersion: 2,
        config: descriptor(config),
        layers: made.map(({ blob }) => descriptor(blob)),
      }),
      'manifest',
    ),
  );
  const annotations = { 'io.containerd.image.name': 'hostile:1' };
  const index = Buffer.from(
    change(JSON.stringify({ schemaVersion: 2, manifests: [{ ...descriptor(manifest), annotations }] }), 'index'),
  );
  const blob = (data: Uint8Array) => [`blobs/${digestOf(data).replace(':', '/')}`, data] as const;
  return buildArchive([...made.map((layer) => blob(layer.blob)), blob(config), blob(manifest), ['index.json', index]]);
}

/** Replaces one value of the JSON, or truncates it. */
const jsonChange = fc
  .record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    value: fc.constantFrom(
      'null',
      '[]',
      '{}',
      '-1',
      '1e400',
      '"../../x"',
      '"sha256:zz"',
      '{"__proto__":1}',
      '[[[[]]]]',
      '""',
      '\u0000',
    ),
    what: fc.constantFrom('config', 'manifest', 'index'),
    cut: fc.integer({ min: 0, max: 9 }).map((drawn) => drawn === 0),
  })
  .map(
    ({ at, value, what, cut }): JsonChange =>
      (json, given) => {
        if (given !== what) return json;
        const values = [...json.matchAll(/"[^"]*"|\d+|\[|\{/g)];
        const chosen = values[Math.min(values.length - 1, Math.floor(at * values.length))];
        if (chosen === undefined) return json;
        if (cut) return json.slice(0, chosen.index);
        return `${json.slice(0, chosen.index)}${value}${json.slice(chosen.index + chosen[0].length)}`;
      },
  );

/** In memory if possible: every layer is synced to disk. */
async function quickFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'nodelet-hostile-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function worlds(t: TestContext): Promise<readonly World[]> {
  const memory = await makeWorld(createMemoryHost(), '/data');
  return needsRoot ? [memory] : [memory, await makeWorld(createLinuxHost(process.env), await quickFolder(t))];
}

async function everywhere<T>(
  t: TestContext,
  arbitrary: fc.Arbitrary<T>,
  numRuns: number,
  load: (world: World, drawn: T) => (storage: Storage) => Promise<readonly StoredImage[]>,
): Promise<void> {
  const all = await worlds(t);
  const outcomes: string[] = [];
  const run = async (drawn: T) => {
    outcomes.push(...(await Promise.all(all.map((world) => attempt(world, load(world, drawn))))));
  };
  await fc.assert(fc.asyncProperty(arbitrary, run), { numRuns, seed: SEED, endOnFailure: true });
  for (const { storage } of all) await storage.close();
  // Both occur: otherwise the cases would be useless.
  assert.deepEqual([outcomes.includes('in'), outcomes.includes('rejected')], [true, true]);
}

test('1,000 hostile layers', async (t) => {
  await everywhere(
    t,
    fc.array(hostileLayer, { minLength: 1, maxLength: 2 }),
    1000,
    ({ outside }, layers) =>
      async (storage) => {
        const made = layers.map((layer) => layerBytes(layer, outside));
        const rootfs = { type: 'layers', diff_ids: made.map(({ diffId }) => diffId) };
        const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', config: {}, rootfs }));
        const incoming = made.map(({ blob }) => ({
          digest: digestOf(blob),
          open: async function* () {
            for (let at = 0; at < blob.byteLength; at += 1000) yield blob.subarray(at, at + 1000);
          },
        }));
        return [await storage.ingest.ingest({ references: ['a:1'], config, layers: incoming, sizeBytes: 1 }, signal)];
      },
  );
});

test('500 hostile image archives', async (t) => {
  const drawn = fc.record({ layers: fc.array(hostileLayer, { maxLength: 2 }), damage });
  await everywhere(
    t,
    drawn,
    500,
    ({ outside }, { layers, damage: what }) =>
      async (storage) =>
        storage.loader.loadArchive(damaged(Buffer.from(await imageOf(layers, outside)), what), {}, signal),
  );
});

test('500 hostile manifests and configurations', async (t) => {
  const drawn = fc.record({ layers: fc.array(hostileLayer, { maxLength: 1 }), change: jsonChange });
  await everywhere(
    t,
    drawn,
    500,
    ({ outside }, { layers, change }) =>
      async (storage) =>
        storage.loader.loadArchive(await imageOf(layers, outside, change), {}, signal),
  );
});
