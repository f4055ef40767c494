import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import { Digester } from '../storage/digest.ts';
import { SpaceGuard } from '../storage/space-guard.ts';
import type { StorageLayout } from '../storage/storage-layout.ts';
import { decompress, detectCompression } from './archive/decompress.ts';
import { ImageArchive, type RandomAccess, streamAll } from './archive/image-archive.ts';
import { writeTar } from './archive/write-tar.ts';
import { readArchivedImages } from './archived-images.ts';
import { encodeDocument } from './image-documents.ts';
import type { ImageIngest } from './image-ingest.ts';
import { normalizeReference } from './image-reference.ts';
import type { StoredImage } from './image-store.ts';

export interface LoadOptions {
  /** The name to use instead of those in the archive; only for an archive with one image. */
  readonly reference?: string;
}

export type ArchiveSource = string | Uint8Array | AsyncIterable<Uint8Array>;

export interface RootfsOptions {
  readonly reference: string;
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: readonly string[];
  readonly user?: string;
  readonly workingDir?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface LoadedImage extends StoredImage {
  /** The full names given by the archive or the caller, possibly none. The image may have had others before. */
  readonly references: readonly string[];
}

/** Adds images without a registry. */
export interface ImageLoader {
  /**
   * Loads all images of an archive in OCI's or `docker save`'s layout, compressed or not. The source is the path of a
   * file, its bytes, or a stream, which is spooled to disk first. Of several platforms the one for this machine is
   * loaded.
   * Rejects as `ImageIngest.ingest` does, or with the stream's error; images before the invalid one are kept.
   */
  loadArchive(source: ArchiveSource, options: LoadOptions, signal: AbortSignal): Promise<readonly LoadedImage[]>;

  /** Builds an image of one layer from a directory, or from the path of a tar archive, compressed or not. */
  buildFromRootfs(source: string, options: RootfsOptions, signal: AbortSignal): Promise<StoredImage>;
}

export interface ImageLoaderDeps {
  readonly fs: FileSystem;
  readonly random: Random;
  readonly layout: StorageLayout;
  readonly ingest: ImageIngest;
  /** Go's name: `amd64`. */
  readonly architecture: string;
}

/** Bytes collected before they are appended to the spool file. */
const SPOOL_BYTES = 4 * 1024 * 1024;

export function createImageLoader(deps: ImageLoaderDeps): ImageLoader {
  return {
    async loadArchive(source, { reference }, signal) {
      return withArchive(deps, source, signal, async (archive) => {
        const images = await readArchivedImages(archive, deps.architecture);
        if (reference !== undefined && images.length !== 1) {
          throw new SyntaxError(`the archive has ${images.length} images: a name can only be given to one`);
        }
        const loaded: LoadedImage[] = [];
        for (const image of images) {
          const named = reference === undefined ? image : { ...image, references: [reference] };
          const stored = await deps.ingest.ingest(named, signal);
          loaded.push({ ...stored, references: named.references.flatMap((name) => normalizeReference(name) ?? []) });
        }
        return loaded;
      });
    },

    async buildFromRootfs(source, options, signal) {
      const found = await deps.fs.stat(source);
      const isFolder = found?.kind === 'directory';
      const open = (limit: AbortSignal) =>
        isFolder ? writeTar(deps.fs.readTree(source, limit)) : fileBytes(deps.fs, source, limit);
      // Read twice: the image's ID depends on its whole content.
      const read = new Digester();
      for await (const _ of read.tee(decompress(open(signal))));
      const config = configText(options, read.digest(), deps.architecture);
      const layer = { open };
      const image = {
        references: [options.reference],
        config,
        layers: [layer],
        sizeBytes: read.size + config.byteLength,
      };
      return deps.ingest.ingest(image, signal);
    },
  };
}

async function withArchive<T>(
  deps: ImageLoaderDeps,
  source: ArchiveSource,
  signal: AbortSignal,
  work: (archive: ImageArchive) => Promise<T>,
): Promise<T> {
  if (source instanceof Uint8Array) {
    const memory = {
      size: source.byteLength,
      read: async (offset: number, length: number) => source.subarray(offset, offset + length),
    };
    return withPlain(deps, memory, signal, work);
  }
  if (typeof source !== 'string') return withSpooled(deps, source, signal, work);
  await using file = await deps.fs.openFile(source);
  const { size } = await file.stat();
  return await withPlain(deps, { size, read: (offset, length) => file.read(offset, length) }, signal, work);
}

/** A compressed archive has no random access and is spooled decompressed. */
async function withPlain<T>(
  deps: ImageLoaderDeps,
  source: RandomAccess,
  signal: AbortSignal,
  work: (archive: ImageArchive) => Promise<T>,
): Promise<T> {
  if (detectCompression(await source.read(0, 4)) === 'none') return work(await ImageArchive.open(source, signal));
  return withSpooled(deps, streamAll(source, signal), signal, work);
}

async function withSpooled<T>(
  { fs, layout, random }: ImageLoaderDeps,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  work: (archive: ImageArchive) => Promise<T>,
): Promise<T> {
  await fs.makeDirectory(layout.unfinished, 0o700); // omitted at start-up when the disk was full
  const path = `${layout.unfinished}/${Buffer.from(random.bytes(8)).toString('hex')}.tar`;
  try {
    await spool({ fs, space: new SpaceGuard(fs, layout.root) }, decompress(bytes), path, signal);
    await using file = await fs.openFile(path);
    const { size } = await file.stat();
    return await work(await ImageArchive.open({ size, read: (offset, length) => file.read(offset, length) }, signal));
  } finally {
    await fs.remove(path);
  }
}

async function spool(
  { fs, space }: { readonly fs: FileSystem; readonly space: SpaceGuard },
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  const flush = async () => {
    await space.reserve(size, 0);
    await fs.appendFile(path, Buffer.concat(waiting));
    [waiting, size] = [[], 0];
  };
  for await (const chunk of bytes) {
    signal.throwIfAborted();
    waiting.push(chunk);
    size += chunk.byteLength;
    if (size >= SPOOL_BYTES) await flush();
  }
  await flush();
}

async function* fileBytes(fs: FileSystem, path: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  await using file = await fs.openFile(path);
  const { size } = await file.stat();
  yield* streamAll({ size, read: (offset, length) => file.read(offset, length) }, signal);
}

function configText(options: RootfsOptions, diffId: string, architecture: string): Uint8Array {
  const config = {
    ...(options.entrypoint ? { Entrypoint: options.entrypoint } : {}),
    ...(options.cmd ? { Cmd: options.cmd } : {}),
    ...(options.env ? { Env: options.env } : {}),
    ...(options.user ? { User: options.user } : {}),
    ...(options.workingDir ? { WorkingDir: options.workingDir } : {}),
    ...(options.labels ? { Labels: options.labels } : {}),
  };
  const whole = { architecture, os: 'linux', config, rootfs: { type: 'layers', diff_ids: [diffId] } };
  return encodeDocument(whole);
}
