import type { ImageService } from '../../cri/services.ts';
import type { ImageStore } from '../images/image-store.ts';

export interface RemoveImageDeps {
  readonly images: ImageStore & { remove(id: string): Promise<void> };
  /** Takes layers away that nobody needs any more. */
  readonly collectLayers: () => Promise<void>;
}

/** The whole image goes with all of its names, by whichever it was called. One that is not here is fine. */
export function removeImage({ images, collectLayers }: RemoveImageDeps): ImageService['removeImage'] {
  return async ({ image }) => {
    const found = images.find(image?.image ?? '');
    if (found === undefined) return {};
    await images.remove(found.id);
    await collectLayers();
    return {};
  };
}
