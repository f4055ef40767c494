import type { Image, ImageFilter } from '../../cri/generated/runtime-v1.ts';
import type { ImageService } from '../../cri/services.ts';
import { imageMessage } from '../images/image-message.ts';
import type { ImageStore } from '../images/image-store.ts';

export interface ListImagesDeps {
  readonly images: ImageStore;
}

export function listImages(deps: ListImagesDeps): ImageService['listImages'] {
  return async ({ filter }) => ({ images: select(deps, filter) });
}

function select({ images }: ListImagesDeps, filter: ImageFilter | undefined): Image[] {
  const wanted = filter?.image?.image ?? '';
  const found = images.find(wanted);
  const selected = wanted === '' ? images.list() : found ? [found] : [];
  return selected.map(imageMessage);
}
