import type { Log } from '../base/log.ts';
import type { ImageService } from '../cri/services.ts';
import type { Clock } from '../host/clock.ts';
import { type FileSystem, FileSystemError, isOutOfSpace } from '../host/file-system.ts';
import { MountError, type Mounts } from '../host/mounts.ts';
import type { Random } from '../host/random.ts';
import { createImageExporter } from './images/export-images.ts';
import type { ImageExporter } from './images/image-exporter.ts';
import { createImageIngest, type ImageIngest } from './images/image-ingest.ts';
import { createImageLoader, type ImageLoader } from './images/image-loader.ts';
import type { ImagePuller } from './images/image-puller.ts';
import { ImageRecords, type RecordedLayer } from './images/image-records.ts';
import type { ImageStore, StoredImage } from './images/image-store.ts';
import { imageFsInfo } from './server/image-fs-info.ts';
import { imageStatus } from './server/image-status.ts';
import { listImages } from './server/list-images.ts';
import { pullImage } from './server/pull-image.ts';
import { removeImage } from './server/remove-image.ts';
import { streamImages } from './server/stream-list.ts';
import type { RuntimePaths } from './settings/runtime-paths.ts';
import type { RuntimeSettings } from './settings/runtime-settings.ts';
import { hexOf } from './storage/digest.ts';
import { LayerLeases } from './storage/layer-leases.ts';
import { LayerReferences } from './storage/layer-references.ts';
import { LayerStore } from './storage/layer-store.ts';
import { LayeredSnapshotter } from './storage/layered-snapshotter.ts';
import { driverForExistingLayers, NATIVE, probeDriver, type StorageDriver } from './storage/probe-driver.ts';
import type { Snapshotter } from './storage/snapshotter.ts';
import { type StorageLayout, storageLayout } from './storage/storage-layout.ts';
import { sweepStorage } from './storage/sweep-storage.ts';
import { Trash } from './storage/trash.ts';
import { WritableUsage } from './storage/writable-usage.ts';

export interface StorageParts {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly random: Random;
  readonly clock: Clock;
  readonly log: Log;
  readonly paths: Pick<RuntimePaths, 'storage'>;
  readonly settings: Pick<RuntimeSettings, 'pinnedImages'>;
  /** Go's name of the architecture: `amd64`. */
  readonly architecture: string;
  /** Absent: probed on this machine. */
  readonly driver?: Snapshotter['driver'];
}

/** Images, layers and root filesystems of containers. A storage directory has one owner at a time. */
export interface Storage {
  readonly images: ImageStore;
  readonly snapshots: Snapshotter;
  readonly loader: ImageLoader;
  readonly exporter: ImageExporter;
  readonly ingest: ImageIngest;
  imageService(puller?: ImagePuller): ImageService;
  /** Adds a name to an image, and removes it from the image that had it. Rejects with a `CriError`. */
  tag(image: string, name: string): Promise<StoredImage>;
  /** Removes a name of an image that has another tag; otherwise changes nothing and returns `undefined`. */
  untag(name: string): Promise<StoredImage | undefined>;
  /** Resolves when background removals of answered calls are done. */
  settled(): Promise<void>;
  /** Orderly shutdown: waits for removals and deletes this process's temporary files. No call may follow. */
  close(): Promise<void>;
  /** Removes leftovers of previous processes: partial layers, layers without an image. Not urgent; safe at any time. */
  sweep(): Promise<void>;
}

/**
 * Age at which `sweep` removes a complete layer without an image. Such layers are left by a process that was killed during
 * a pull, and a retried pull reuses them. Removing any image removes them at once.
 */
const UNUSED_LAYER_MAX_AGE_MS = 60 * 60_000;

/** Reads one small file per image and walks no directory tree. */
export async function openStorage(parts: StorageParts): Promise<Storage> {
  const { fs, clock, log, random, settings } = parts;
  const { driver, layout } = await prepareFolders(parts);
  const present = (await fs.readDirectory(layout.layers)).map(({ name }) => name).filter(isHex);
  const trash = new Trash(parts, layout.unfinished);
  const layers = new LayerStore({ fs, random, layout, trash, whiteoutFormat: driver.whiteouts }, present);
  const records = new ImageRecords({ fs, clock, log, layout, pinned: settings.pinnedImages });
  await records.load((chainId) => layers.has(chainId));
  for (const layer of imageLayers(records)) layers.setUsage(layer.chainId, layer);
  const references = new LayerReferences(fs, layout);
  const leases = new LayerLeases();
  const stores = { layout, driver, layers, references, trash };
  const image = (reference: string) => records.record(reference);

  const isUsedByImage = (chainId: string): boolean =>
    leases.has(chainId) || imageLayers(records).some((layer) => layer.chainId === chainId);
  // Top layer first: a user of a layer needs all layers below it.
  const discardLayers = async (chain: readonly string[]): Promise<void> => {
    for (const chainId of chain.toReversed()) {
      if (isUsedByImage(chainId)) return;
      await references.load();
      await layers.remove(hexOf(chainId), () => isUsedByImage(chainId) || references.isInUse(chainId));
    }
  };
  const collectLayers = async (isOld?: (hex: string) => Promise<boolean>): Promise<void> => {
    const ofImages = new Set(imageLayers(records).map(({ chainId }) => hexOf(chainId)));
    for (const hex of layers.all()) {
      if (!ofImages.has(hex) && (await (isOld?.(hex) ?? true))) await discardLayers([`sha256:${hex}`]);
    }
  };
  const ingest = createImageIngest({ layers, records, leases, discardLayers });
  const snapshots = new LayeredSnapshotter({ ...parts, ...stores, image, discardLayers });
  const writable = new WritableUsage(clock, snapshots);

  return {
    images: records,
    snapshots,
    loader: createImageLoader({ ...parts, layout, ingest }),
    exporter: createImageExporter({ layers, records, leases, discardLayers }),
    ingest,
    imageService: (puller) => ({
      listImages: listImages({ images: records }),
      streamImages: streamImages(listImages({ images: records })),
      imageStatus: imageStatus({ images: records }),
      removeImage: removeImage({ images: records, collectLayers: () => collectLayers() }),
      imageFsInfo: imageFsInfo({
        clock,
        storage: layout.root,
        layerUsage: () => layers.usage(),
        writableUsage: (signal) => writable.sum(signal),
      }),
      pullImage: pullImage(puller ? { puller } : {}),
    }),
    tag: (image, name) => records.tag(image, name),
    untag: (name) => records.untag(name),
    settled: () => trash.waitEmpty(),
    async close() {
      await trash.waitEmpty();
      await fs.removeTree(layout.unfinished);
    },
    sweep: async () => {
      await sweepStorage({ ...parts, layout, references: references });
      await collectLayers(async (hex) => clock.now() - (await layers.storedAtMs(hex)) > UNUSED_LAYER_MAX_AGE_MS);
      await layers.sweepFiles();
      await records.sweepFiles();
      await layers.loadMissingUsage();
    },
  };
}

async function prepareFolders(
  parts: StorageParts,
): Promise<{ readonly driver: StorageDriver; readonly layout: StorageLayout }> {
  const { fs, random, paths } = parts;
  const processId = Buffer.from(random.bytes(8)).toString('hex');
  const unfinished = storageLayout(paths.storage, 'native', processId).unfinished;
  // Closed to other users: images contain setuid programs.
  await fs.makeDirectory(paths.storage, 0o700);
  const driver = parts.driver === 'native' ? NATIVE : await chooseDriver(parts, unfinished);
  if (parts.driver === 'overlayfs' && driver.format === 'native')
    throw new Error(`overlayfs does not work in ${paths.storage}`);
  const layout = storageLayout(paths.storage, driver.format, processId);
  for (const folder of [layout.images, layout.empty, layout.snapshots, layout.views]) await fs.makeDirectory(folder);
  return { driver, layout };
}

/** On a full disk, falls back to the driver of the existing layers, so that running pods can be listed and stopped. */
async function chooseDriver({ fs, mounts, paths, log }: StorageParts, unfinished: string): Promise<StorageDriver> {
  try {
    await fs.makeDirectory(unfinished, 0o700);
    return await probeDriver({ fs, mounts }, `${unfinished}/probe`);
  } catch (error) {
    if (!(error instanceof FileSystemError || error instanceof MountError) || !isOutOfSpace(error)) throw error;
    const layers = `${paths.storage}/layers`;
    const forms = (await fs.stat(layers)) === undefined ? [] : await fs.readDirectory(layers);
    const driver = driverForExistingLayers(forms.map(({ name }) => name));
    if (driver === undefined) throw error;
    log.warn('cannot probe the storage driver, disk is full: using the driver of existing layers', {
      form: driver.format,
      error,
    });
    return driver;
  }
}

function imageLayers(records: ImageRecords): IteratorObject<RecordedLayer> {
  return Iterator.from(records.records()).flatMap(({ layers }) => layers);
}

function isHex(name: string): boolean {
  return /^[0-9a-f]{64,128}$/.test(name);
}
