import { type Image, ImageSpec } from '../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../cri/services.ts';

export interface ImagesInUse {
  /** Ids of images that some container has, whether it runs or not. */
  readonly used: ReadonlySet<string>;
  /** Ids of images that nobody may be seen to use and that are needed yet. */
  readonly preserved: ReadonlySet<string>;
}

/** Which of the runtime's images have to stay. */
export async function imagesInUse(
  cri: Cri,
  kept: readonly string[],
  images: readonly Image[],
  signal: AbortSignal,
): Promise<ImagesInUse> {
  const { containers } = await cri.runtime.listContainers({ filter: undefined }, signal);
  // Runtimes differ in where they put the id: containerd 1.6 has it as the image of the container.
  const names = new Set(containers.flatMap(({ imageId, image, imageRef }) => [imageId, image?.image ?? '', imageRef]));
  const used = images.filter((each) => namesOf(each).some((name) => names.has(name)));
  return {
    used: new Set(used.map(({ id }) => id)),
    preserved: await idsOf(await preservedNames(cri, kept, signal), cri, signal),
  };
}

function namesOf({ id, repoTags, repoDigests }: Image): readonly string[] {
  return [id, ...repoTags, ...repoDigests];
}

/** Every sandbox needs the image that the runtime makes them from, and not every runtime pins it. */
async function preservedNames({ runtime }: Cri, kept: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const { info } = await runtime.status({ verbose: true }, signal);
  const sandboxImage = sandboxImageIn(info['config'] ?? '');
  return sandboxImage === undefined ? kept : [...kept, sandboxImage];
}

/** containerd tells its configuration, as JSON, to whoever asks for all that it knows. */
export function sandboxImageIn(config: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(config);
    if (typeof parsed !== 'object' || parsed === null || !('sandboxImage' in parsed)) return undefined;
    return typeof parsed.sandboxImage === 'string' && parsed.sandboxImage !== '' ? parsed.sandboxImage : undefined;
  } catch {
    return undefined; // another runtime, with a configuration of its own
  }
}

/** The runtime itself says what a name stands for. */
async function idsOf(names: readonly string[], { images }: Cri, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const image of names) {
    const answer = await images.imageStatus({ image: ImageSpec.create({ image }), verbose: false }, signal);
    if (answer.image) ids.add(answer.image.id);
  }
  return ids;
}
