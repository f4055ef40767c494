import { abortable } from '../../base/abortable.ts';
import { errorText } from '../../base/error-text.ts';
import { type CriCode, CriError } from '../../cri/cri-error.ts';
import { RemoveImageRequest } from '../../cri/generated/runtime-v1.ts';
import { FileSystemError } from '../../host/file-system.ts';
import type { ImageExporter } from '../../runtime/images/image-exporter.ts';
import type { LoadedImage } from '../../runtime/images/image-loader.ts';
import type { ImagePuller } from '../../runtime/images/image-puller.ts';
import { normalizeReference } from '../../runtime/images/image-reference.ts';
import type { Storage } from '../../runtime/open-storage.ts';
import type { GivenArchive, ImageOperations, NamedImage } from './image-operations.ts';

export interface StoredImagesDeps {
  readonly storage: Pick<Storage, 'images' | 'loader' | 'imageService' | 'tag' | 'untag'>;
  readonly puller: ImagePuller;
  readonly exporter: ImageExporter;
}

/** `ImageOperations` on a storage of this process. */
export function storedImages({ storage, puller, exporter }: StoredImagesDeps): ImageOperations {
  const service = storage.imageService();
  return {
    async pull({ image, auth }, signal, watch) {
      const name = normalizedName(image);
      const { id } = await puller.pull(name, auth, signal, watch);
      return { name, id };
    },
    async load(archive, signal) {
      const { source, what } = archiveSource(archive, signal);
      const loaded = await asCriError(what, () => storage.loader.loadArchive(source, {}, signal), signal);
      return loaded.flatMap(namedImages);
    },
    save: ({ images }, signal) => exporter.archive(images, signal),
    async build({ rootfs, name, config }, signal) {
      const whole = normalizedName(name);
      const options = { ...config, reference: whole };
      const what = `cannot make an image of ${rootfs}`;
      const { id } = await asCriError(what, () => storage.loader.buildFromRootfs(rootfs, options, signal), signal);
      return { name: whole, id };
    },
    async tag({ image, name }, signal) {
      const { id } = await asCriError(`cannot name ${image}`, () => storage.tag(image, name), signal);
      return { name: normalizedName(name), id };
    },
    async list() {
      return storage.images.list().map(({ id, repoTags, repoDigests, sizeBytes, pinned }) => ({
        id,
        tags: repoTags,
        digests: repoDigests,
        sizeBytes,
        pinned,
      }));
    },
    async remove({ image }, signal) {
      const renamed = await storage.untag(image);
      if (renamed) return { name: image, id: renamed.id };
      const found = storage.images.find(image);
      if (!found) throw new CriError('NotFound', `image ${JSON.stringify(image)} not found`);
      await service.removeImage(RemoveImageRequest.fromPartial({ image: { image: found.id } }), signal);
      return { name: image, id: found.id };
    },
  };
}

function normalizedName(image: string): string {
  const name = normalizeReference(image);
  if (name === undefined) throw new CriError('InvalidArgument', `${JSON.stringify(image)} is not the name of an image`);
  return name;
}

function archiveSource(archive: GivenArchive, signal: AbortSignal) {
  if ('path' in archive) return { source: archive.path, what: `cannot load ${archive.path}` };
  return { source: untilAborted(archive.bytes, signal), what: 'cannot load standard input' };
}

/** Stops waiting for the next chunk when the signal aborts: a client may send nothing for long. */
async function* untilAborted(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const chunks = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await abortable(chunks.next(), signal);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    void chunks.return?.().catch(() => {}); // may wait for the client too
  }
}

function namedImages({ id, references }: LoadedImage): readonly NamedImage[] {
  return (references.length > 0 ? references : [id]).map((name) => ({ name, id }));
}

/** Converts errors of an image or a file into a `CriError` that names the operation. */
async function asCriError<T>(what: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CriError) throw error;
    throw new CriError(criCodeOf(error), `${what}: ${errorReason(error, what)}`, { cause: error });
  }
}

const FILE_ERRORS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file'],
  ['EISDIR', 'it is a folder'],
  ['ENXIO', "it is no file; pipe it in, with '-' for its name"],
]);

function errorReason(error: unknown, what: string): string {
  const isOfIt = error instanceof FileSystemError && what.endsWith(` ${error.path}`);
  return (isOfIt ? FILE_ERRORS.get(error.code) : undefined) ?? errorText(error);
}

function criCodeOf(error: unknown): CriCode {
  if (error instanceof FileSystemError) return error.code === 'ENOENT' ? 'NotFound' : 'Unknown';
  return 'InvalidArgument'; // the content is not a valid image
}
