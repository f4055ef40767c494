import { type Image, ImageSpec } from '../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../cri/services.ts';
import type { MountedImages } from './mounted-images.ts';

export interface ImagesInUseDeps {
  readonly cri: Cri;
  readonly mounted: MountedImages;
  /** Names of images that are never removed. */
  readonly keptImages: readonly string[];
}

export interface ImagesInUse {
  /** Ids of images of all containers and of their image volumes, running or not. */
  readonly used: ReadonlySet<string>;
  /** Ids of images that are needed although no container uses them. */
  readonly preserved: ReadonlySet<string>;
}

/** Determines which images must not be removed. */
export async function imagesInUse(
  images: readonly Image[],
  { cri, mounted, keptImages }: ImagesInUseDeps,
  signal: AbortSignal,
): Promise<ImagesInUse> {
  const { containers } = await cri.runtime.listContainers({ filter: undefined }, signal);
  // Runtimes report the id in different fields: containerd 1.6 in the container's `image`.
  const own = containers.flatMap(({ imageId, image, imageRef }) => [imageId, image?.image ?? '', imageRef]);
  const volumes = await mounted.references(
    containers.map(({ id }) => id),
    signal,
  );
  const names = new Set([...own, ...volumes]);
  const used = images.filter((each) => imageNames(each).some((name) => names.has(name)));
  return {
    used: new Set(used.map(({ id }) => id)),
    preserved: await resolveImageIds(await preservedNames(cri, keptImages, signal), cri, signal),
  };
}

function imageNames({ id, repoTags, repoDigests }: Image): readonly string[] {
  return [id, ...repoTags, ...repoDigests];
}

/** The sandbox image is preserved too: not every runtime pins it. */
async function preservedNames(
  { runtime }: Cri,
  kept: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { info } = await runtime.status({ verbose: true }, signal);
  const sandboxImage = sandboxImageIn(info['config'] ?? '');
  return sandboxImage === undefined ? kept : [...kept, sandboxImage];
}

/** The sandbox image in containerd's configuration, which its verbose status contains as JSON. */
export function sandboxImageIn(config: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(config);
    if (typeof parsed !== 'object' || parsed === null || !('sandboxImage' in parsed)) return undefined;
    return typeof parsed.sandboxImage === 'string' && parsed.sandboxImage !== '' ? parsed.sandboxImage : undefined;
  } catch {
    return undefined; // another runtime with another format
  }
}

/** Resolves image names to ids through the runtime. */
async function resolveImageIds(
  names: readonly string[],
  { images }: Cri,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const image of names) {
    const answer = await images.imageStatus({ image: ImageSpec.create({ image }), verbose: false }, signal);
    if (answer.image) ids.add(answer.image.id);
  }
  return ids;
}
