import type { ContainerImage } from '../../../api/generated/core-v1.ts';
import { byCodePoint } from '../../../base/code-point-order.ts';
import type { Image } from '../../../cri/generated/runtime-v1.ts';

const MAX_NAMES = 5;

/** The largest images with their digests and tags; all images if `maxImages` is negative. */
export function nodeImages(images: readonly Image[], maxImages: number): readonly ContainerImage[] {
  const bySize = [...images].sort((a, b) => Number(b.size) - Number(a.size) || byCodePoint(b.id, a.id));
  const shown = maxImages < 0 ? bySize : bySize.slice(0, maxImages);
  return shown.map(({ repoDigests, repoTags, size }) => ({
    names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES),
    sizeBytes: Number(size),
  }));
}
