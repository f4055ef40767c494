import type { Log } from '../../base/log.ts';
import type { ImageService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Random } from '../../host/random.ts';
import type { TreeUsage } from '../../host/tree.ts';
import { createImageIngest, type ImageIngest } from '../images/image-ingest.ts';
import { createImageLoader, type ImageLoader } from '../images/image-loader.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import { ImageRecords } from '../images/image-records.ts';
import type { ImageStore, StoredImage } from '../images/image-store.ts';
import type { RuntimePaths } from '../runtime-paths.ts';
import type { RuntimeSettings } from '../runtime-settings.ts';
import { imageFsInfo } from '../server/image-fs-info.ts';
import { imageStatus } from '../server/image-status.ts';
import { listImages } from '../server/list-images.ts';
import { pullImage } from '../server/pull-image.ts';
import { removeImage } from '../server/remove-image.ts';
import { streamImages } from '../server/stream-list.ts';
import { LayerStore } from './layer-store.ts';
import { LayerUse } from './layer-use.ts';
import { LayeredSnapshots } from './layered-snapshots.ts';
import { NATIVE, probeDriver, type StorageDriver } from './probe-driver.ts';
import type { Snapshots } from './snapshots.ts';
import { type StorageLayout, storageLayout } from './storage-layout.ts';
import { sweepStorage } from './sweep-storage.ts';
import { Trash } from './trash.ts';

export interface StorageParts {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly random: Random;
  readonly clock: Clock;
  readonly log: Log;
  readonly paths: Pick<RuntimePaths, 'storage'>;
  readonly settings: Pick<RuntimeSettings, 'pinnedImages'>;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  /** Absent: what works on this machine, found out by trying. */
  readonly driver?: Snapshots['driver'];
}

/** Images, layers and the file systems of containers. One for a storage folder at a time. */
export interface Storage {
  readonly images: ImageStore;
  readonly snapshots: Snapshots;
  readonly loader: ImageLoader;
  readonly ingest: ImageIngest;
  imageService(puller?: ImagePuller): ImageService;
  /** Gives an image one more name; another image that has it loses it. Rejects with a `CriError`. */
  tag(image: string, name: string): Promise<StoredImage>;
  /** Takes a name from an image that has another with a tag; `undefined` and no change where it does not. */
  untag(name: string): Promise<StoredImage | undefined>;
  /** Resolves when nothing is done any more behind what was answered. */
  settled(): Promise<void>;
  /** The orderly end, after which nothing may be asked: also takes away what only this life needed. */
  close(): Promise<void>;
  /** Removes what earlier lives left: half of a layer, layers without an image. Not urgent, and safe at any time. */
  sweep(): Promise<void>;
}

/** Reads one small file for each image, and walks nothing. */
export async function openStorage(parts: StorageParts): Promise<Storage> {
  const { fs, clock, log, random, settings } = parts;
  const { driver, layout } = await prepareFolders(parts);
  const present = (await fs.readDirectory(layout.layers)).map(({ name }) => name);
  const layers = new LayerStore({ fs, random, layout, form: driver.marks }, present.filter(isHex));
  const records = new ImageRecords({ fs, clock, log, layout, pinned: settings.pinnedImages });
  await records.load((chainId) => layers.has(chainId));
  const use = new LayerUse(fs, layout);
  const arriving = new Map<string, number>();
  const trash = new Trash(parts, layout.unfinished);
  const ingest = createImageIngest({ layers, records, arriving });
  const image = (reference: string) => records.record(reference);

  const isNeeded = (chainId: string): boolean =>
    arriving.has(chainId) ||
    use.holds(chainId) ||
    [...records.records()].some((record) => record.layers.some((layer) => layer.chainId === chainId));
  const collectLayers = async (): Promise<void> => {
    await use.loaded();
    for (const hex of layers.all()) await layers.remove(hex, () => isNeeded(`sha256:${hex}`));
  };

  return {
    images: records,
    snapshots: new LayeredSnapshots({ ...parts, layout, driver, layers, use, image, trash }),
    loader: createImageLoader({ ...parts, layout, ingest }),
    ingest,
    imageService: (puller) => ({
      listImages: listImages({ images: records }),
      streamImages: streamImages(listImages({ images: records })),
      imageStatus: imageStatus({ images: records }),
      removeImage: removeImage({ images: records, collectLayers }),
      imageFsInfo: imageFsInfo({ clock, storage: layout.root, layerUsage: () => usageOf(records) }),
      pullImage: pullImage(puller ? { puller } : {}),
    }),
    tag: (image, name) => records.tag(image, name),
    untag: (name) => records.untag(name),
    settled: () => trash.emptied(),
    async close() {
      await trash.emptied();
      await fs.removeTree(layout.unfinished);
    },
    sweep: async () => {
      await sweepStorage({ ...parts, layout, use });
      await collectLayers();
      await layers.sweepFiles();
    },
  };
}

async function prepareFolders(
  parts: StorageParts,
): Promise<{ readonly driver: StorageDriver; readonly layout: StorageLayout }> {
  const { fs, random, paths } = parts;
  const life = Buffer.from(random.bytes(8)).toString('hex');
  const unfinished = storageLayout(paths.storage, 'native', life).unfinished;
  // Nobody else may come by: images hold setuid programs of their own.
  await fs.makeDirectory(paths.storage, 0o700);
  await fs.makeDirectory(unfinished, 0o700);
  const driver = parts.driver === 'native' ? NATIVE : await probeDriver(parts, `${unfinished}/probe`);
  if (parts.driver === 'overlayfs' && driver.form === 'native')
    throw new Error(`overlayfs does not work in ${paths.storage}`);
  const layout = storageLayout(paths.storage, driver.form, life);
  for (const folder of [layout.images, layout.empty, layout.snapshots, layout.views]) await fs.makeDirectory(folder);
  return { driver, layout };
}

/** A layer that several images share counts once. */
function usageOf(records: ImageRecords): TreeUsage {
  const layers = new Map(
    [...records.records()].flatMap((record) => record.layers.map((layer) => [layer.chainId, layer])),
  );
  let [bytes, inodes] = [0, 0];
  for (const layer of layers.values()) {
    bytes += layer.bytes;
    inodes += layer.inodes;
  }
  return { bytes, inodes };
}

function isHex(name: string): boolean {
  return /^[0-9a-f]{64,128}$/.test(name);
}
