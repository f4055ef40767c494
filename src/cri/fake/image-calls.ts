import { CriError } from '../cri-error.ts';
import { type AuthConfig, FilesystemUsage, type ImageFilter } from '../generated/runtime-v1.ts';
import type { ImageService } from '../services.ts';
import type { FakeWorld } from './fake-world.ts';
import { contentDigest, normalizeReference, parseRepository } from './image-reference.ts';
import { imageMessage } from './messages.ts';
import type { FakeImage } from './records.ts';

/** An image in the registry. */
export interface RegistryImage {
  /** References with the same content are one image; absent: the reference itself. */
  readonly content?: string;
  readonly sizeBytes?: number;
  readonly pullMs?: number;
  /** The image's user. */
  readonly uid?: number;
  readonly username?: string;
  readonly pinned?: boolean;
  /** The pull fails, after `pullMs`. */
  readonly error?: CriError;
  /** Absent: every pull is allowed. */
  readonly allows?: (auth: AuthConfig | undefined) => boolean;
}

const MIB = 1024 * 1024;

export function imageCalls(world: FakeWorld): ImageService {
  return {
    listImages: async ({ filter }) => ({ images: select(world, filter).map(imageMessage) }),

    async *streamImages({ filter }) {
      for (const image of select(world, filter)) yield { images: [imageMessage(image)] };
    },

    async imageStatus({ image }) {
      const found = findImage(world, image?.image ?? '');
      return { image: found && imageMessage(found), info: {} };
    },

    async pullImage({ image, auth }, signal) {
      return { imageRef: (await pull(world, image?.image ?? '', auth, signal)).id };
    },

    async removeImage({ image }) {
      const found = findImage(world, image?.image ?? '');
      if (found) world.images.delete(found.id);
      return {};
    },

    async imageFsInfo() {
      const images = [...world.images.values()];
      const usage = FilesystemUsage.fromPartial({
        timestamp: world.timestamp(),
        fsId: { mountpoint: '/var/lib/fake-runtime' },
        usedBytes: { value: BigInt(images.reduce((sum, image) => sum + image.sizeBytes, 0)) },
        inodesUsed: { value: BigInt(images.length) },
      });
      return { imageFilesystems: [usage], containerFilesystems: [usage] };
    },
  };
}

/** Finds an image by id, id prefix, or name. */
export function findImage(world: FakeWorld, reference: string): FakeImage | undefined {
  if (reference === '') return undefined;
  const byId = [...world.images.values()].find(
    ({ id }) => id === reference || (/^[0-9a-f]{6,64}$/.test(reference) && id.startsWith(`sha256:${reference}`)),
  );
  if (byId) return byId;
  const name = tryNormalize(reference);
  return [...world.images.values()].find(({ tags, digests }) => name && (tags.has(name) || digests.has(name)));
}

/** Adds an image without a pull. */
export function addImage(world: FakeWorld, reference: string, source: RegistryImage = {}): FakeImage {
  const name = normalizeReference(reference);
  const content = source.content ?? name;
  const id = contentDigest(`config of ${content}`);
  const known = world.images.get(id);
  const image: FakeImage = known ?? {
    id,
    tags: new Set(),
    digests: new Set(),
    sizeBytes: source.sizeBytes ?? MIB,
    uid: source.uid,
    username: source.username ?? '',
    pinned: source.pinned ?? false,
  };
  if (name.includes('@')) {
    image.digests.add(name);
  } else {
    for (const other of world.images.values()) other.tags.delete(name); // a tag names one image
    image.tags.add(name);
    image.digests.add(`${parseRepository(name)}@${contentDigest(content)}`);
  }
  world.images.set(id, image);
  return image;
}

async function pull(
  world: FakeWorld,
  reference: string,
  auth: AuthConfig | undefined,
  signal: AbortSignal,
): Promise<FakeImage> {
  const name = normalizeReference(reference);
  const source = world.registry.get(reference) ?? world.registry.get(name);
  if (source?.pullMs) await world.clock.sleep(source.pullMs, signal);
  if (source?.error) throw source.error;
  const failed = `failed to pull and unpack image "${name}": failed to resolve reference "${name}"`;
  if (!source) throw new CriError('NotFound', `${failed}: ${name}: not found`);
  if (source.allows && !source.allows(auth)) {
    throw new CriError(
      'Unknown',
      `${failed}: pull access denied, repository does not exist or may require authorization`,
    );
  }
  return addImage(world, reference, source);
}

function select(world: FakeWorld, filter: ImageFilter | undefined): readonly FakeImage[] {
  const wanted = filter?.image?.image ?? '';
  if (wanted === '') return [...world.images.values()];
  const found = findImage(world, wanted);
  return found ? [found] : [];
}

function tryNormalize(reference: string): string | undefined {
  try {
    return normalizeReference(reference);
  } catch {
    return undefined; // an invalid reference matches no image
  }
}
