import type { ImageService } from '../../cri/services.ts';
import type { ImageStore } from '../images/image-store.ts';

export interface RemoveImageDeps {
  readonly images: ImageStore & { remove(id: string): Promise<void> };
  /** Removes layers that no image or container uses. */
  readonly collectLayers: () => Promise<void>;
}

/** Removes the image with all its names. An unknown image counts as removed. */
export function removeImage({ images, collectLayers }: RemoveImageDeps): ImageService['removeImage'] {
  return async ({ image }) => {
    const found = images.find(image?.image ?? '');
    if (found === undefined) return {};
    await images.remove(found.id);
    await collectLayers();
    return {};
  };
}
