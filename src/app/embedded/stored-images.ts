import { abortable } from '../../base/abortable.ts';
import { textOf } from '../../base/text-of.ts';
import { type CriCode, CriError } from '../../cri/cri-error.ts';
import { RemoveImageRequest } from '../../cri/generated/runtime-v1.ts';
import { FileSystemError } from '../../host/file-system.ts';
import type { ImageExporter } from '../../runtime/images/image-exporter.ts';
import type { LoadedImage } from '../../runtime/images/image-loader.ts';
import type { ImagePuller } from '../../runtime/images/image-puller.ts';
import { normalizedReference } from '../../runtime/images/image-reference.ts';
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
      const name = wholeName(image);
      const { id } = await puller.pull(name, auth, signal, watch);
      return { name, id };
    },
    async load(archive, signal) {
      const { source, what } = sourceOf(archive, signal);
      const loaded = await told(what, () => storage.loader.loadArchive(source, {}, signal), signal);
      return loaded.flatMap(namesOf);
    },
    save: ({ images }, signal) => exporter.archive(images, signal),
    async build({ rootfs, name, config }, signal) {
      const whole = wholeName(name);
      const options = { ...config, reference: whole };
      const what = `cannot make an image of ${rootfs}`;
      const { id } = await told(what, () => storage.loader.buildFromRootfs(rootfs, options, signal), signal);
      return { name: whole, id };
    },
    async tag({ image, name }, signal) {
      const { id } = await told(`cannot name ${image}`, () => storage.tag(image, name), signal);
      return { name: wholeName(name), id };
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

function wholeName(image: string): string {
  const name = normalizedReference(image);
  if (name === undefined) throw new CriError('InvalidArgument', `${JSON.stringify(image)} is not the name of an image`);
  return name;
}

function sourceOf(archive: GivenArchive, signal: AbortSignal) {
  if ('path' in archive) return { source: archive.path, what: `cannot load ${archive.path}` };
  return { source: whileWanted(archive.bytes, signal), what: 'cannot load standard input' };
}

/** Whoever sends may be silent for long. */
async function* whileWanted(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const chunks = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await abortable(chunks.next(), signal);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    void chunks.return?.().catch(() => {}); // not waited for, either
  }
}

function namesOf({ id, references }: LoadedImage): readonly NamedImage[] {
  return (references.length > 0 ? references : [id]).map((name) => ({ name, id }));
}

/** Whatever is wrong with an image or a file, as a refusal that says what was tried. */
async function told<T>(what: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CriError) throw error;
    throw new CriError(codeOf(error), `${what}: ${whyOf(error, what)}`, { cause: error });
  }
}

const FILE_FAULTS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file'],
  ['EISDIR', 'it is a folder'],
  ['ENXIO', "it is no file; pipe it in, with '-' for its name"],
]);

function whyOf(error: unknown, what: string): string {
  const isOfIt = error instanceof FileSystemError && what.endsWith(` ${error.path}`);
  return (isOfIt ? FILE_FAULTS.get(error.code) : undefined) ?? textOf(error);
}

function codeOf(error: unknown): CriCode {
  if (error instanceof FileSystemError) return error.code === 'ENOENT' ? 'NotFound' : 'Unknown';
  return 'InvalidArgument'; // what came is not what an image has to be
}
