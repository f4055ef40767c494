/** Kernel limits: an image with the maximum number of layers is mounted, and trees deeper than PATH_MAX are unpacked and removed. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { ImageSpec } from '../../src/cri/generated/runtime-v1.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { buildConfig, buildLayer } from '../../src/runtime/images/fake/image-archives.ts';
import { openStorage, type Storage } from '../../src/runtime/open-storage.ts';
import { needsMounts } from '../contract/host/temporary-folder.ts';

const signal = new AbortController().signal;
const MOST_LAYERS = 160;

async function storageOf(t: TestContext): Promise<{ readonly folder: string; readonly storage: Storage }> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-limits-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const paths = { storage: join(folder, 'var/lib/nodelet/runtime/storage') };
  const settings = { pinnedImages: [] };
  return {
    folder,
    storage: await openStorage({
      ...createLinuxHost(process.env),
      log: silentLog,
      paths,
      settings,
      architecture: 'amd64',
    }),
  };
}

async function ingest(storage: Storage, layers: readonly Uint8Array[]): Promise<string> {
  const incoming = layers.map((layer) => ({
    open: async function* () {
      yield layer;
    },
  }));
  const image = { references: ['app:1'], config: buildConfig({ layers }), layers: incoming, sizeBytes: 1 };
  return (await storage.ingest.ingest(image, signal)).id;
}

test(`an image with ${MOST_LAYERS} layers is mounted`, { skip: needsMounts }, async (t) => {
  const { folder, storage } = await storageOf(t);
  const layers = await Promise.all(
    Array.from({ length: MOST_LAYERS }, (_, number) => buildLayer({ [`f${number}`]: `${number}` })),
  );
  const imageId = await ingest(storage, layers);
  const target = join(folder, 'target');
  const containerId = 'c'.repeat(64);
  await storage.snapshots.mount({ containerId, imageId, target }, signal);
  try {
    assert.equal(readdirSync(target).length, MOST_LAYERS);
    assert.equal(readFileSync(join(target, 'f0'), 'utf8'), '0');
  } finally {
    await storage.snapshots.unmount(target);
  }
  await storage.snapshots.mountImage({ imageId, target }, signal);
  try {
    assert.equal(readdirSync(target).length, MOST_LAYERS);
  } finally {
    await storage.snapshots.unmount(target);
  }
  await storage.snapshots.remove(containerId);
  await storage.close();
});

test('a layer deeper than PATH_MAX is unpacked, counted and removed', { skip: needsMounts }, async (t) => {
  const { folder, storage } = await storageOf(t);
  const deep = Array.from({ length: 15 }, () => 'd'.repeat(200)).join('/');
  const link = (target: string) => ({ kind: 'symlink', target }) as const;
  const layer = await buildLayer({ [deep]: null, down: link(`/${deep}`), [`down/${deep}`]: null, 'down/file': 'deep' });
  await ingest(storage, [layer]);
  const service = storage.imageService();
  const { imageFilesystems } = await service.imageFsInfo({}, signal);
  assert.equal(imageFilesystems[0]?.inodesUsed?.value, BigInt(1 + 15 + 1 + 15 + 1 + 1)); // the root, and the frame
  for await (const _ of storage.exporter.archive(['app:1'], signal));
  await service.removeImage({ image: ImageSpec.create({ image: 'app:1' }) }, signal);
  await storage.close();
  assert.deepEqual(readdirSync(join(folder, 'var/lib/nodelet/runtime/storage/layers/overlay')), ['empty']);
});
