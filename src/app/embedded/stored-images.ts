import { textOf } from '../../base/text-of.ts';
import { type CriCode, CriError } from '../../cri/cri-error.ts';
import { RemoveImageRequest } from '../../cri/generated/runtime-v1.ts';
import { FileSystemError } from '../../host/file-system.ts';
import type { StoredImage } from '../../runtime/images/image-store.ts';
import type { Storage } from '../../runtime/storage/open-storage.ts';
import type { ImageOperations, NamedImage } from './image-operations.ts';

/** `ImageOperations` on a storage of this process. */
export function storedImages(storage: Storage): ImageOperations {
  const service = storage.imageService();
  return {
    async load({ path }, signal) {
      const loaded = await told(`cannot load ${path}`, () => storage.loader.loadArchive(path, {}, signal), signal);
      return loaded.flatMap(namesOf);
    },
    async build({ rootfs, name, config }, signal) {
      const options = { ...config, reference: name };
      const what = `cannot make an image of ${rootfs}`;
      const { id } = await told(what, () => storage.loader.buildFromRootfs(rootfs, options, signal), signal);
      return { name, id };
    },
    async tag({ image, name }, signal) {
      const { id } = await told(`cannot name ${image}`, () => storage.tag(image, name), signal);
      return { name, id };
    },
    async list() {
      return storage.images.list().map(({ id, repoTags, repoDigests, sizeBytes, pinned }) => ({
        id,
        names: repoTags.length > 0 ? repoTags : repoDigests,
        sizeBytes,
        pinned,
      }));
    },
    async remove({ image }, signal) {
      const renamed = await storage.untag(image);
      if (renamed) return { name: image, id: renamed.id };
      const found = storage.images.find(image);
      if (!found) throw new CriError('NotFound', `no image ${JSON.stringify(image)}`);
      await service.removeImage(RemoveImageRequest.fromPartial({ image: { image: found.id } }), signal);
      return { name: image, id: found.id };
    },
  };
}

function namesOf({ id, repoTags, repoDigests }: StoredImage): readonly NamedImage[] {
  const names = repoTags.length > 0 ? repoTags : repoDigests;
  return (names.length > 0 ? names : [id]).map((name) => ({ name, id }));
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

function whyOf(error: unknown, what: string): string {
  const isMissing = error instanceof FileSystemError && error.code === 'ENOENT' && what.endsWith(` ${error.path}`);
  return isMissing ? 'no such file' : textOf(error);
}

function codeOf(error: unknown): CriCode {
  if (error instanceof FileSystemError) return error.code === 'ENOENT' ? 'NotFound' : 'Unknown';
  return 'InvalidArgument'; // what came is not what an image has to be
}
