import { CriError } from '../../cri/cri-error.ts';
import type { ImageService } from '../../cri/services.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import { normalizeReference } from '../images/image-reference.ts';

export interface PullImageDeps {
  /** Absent: this runtime cannot pull. */
  readonly puller?: ImagePuller;
}

export function pullImage({ puller }: PullImageDeps): ImageService['pullImage'] {
  return async ({ image, auth }, signal) => {
    const requested = image?.image ?? '';
    const reference = normalizeReference(requested);
    if (reference === undefined) {
      const text = JSON.stringify(requested);
      throw new CriError(
        'InvalidArgument',
        `image.image: failed to parse image reference ${text}: invalid reference format`,
      );
    }
    if (puller === undefined) {
      const way = "load it with 'nodelet image load'";
      throw new CriError(
        'Unimplemented',
        `cannot pull ${reference}: this runtime does not pull from registries; ${way}`,
      );
    }
    const pulled = await puller.pull(reference, auth, signal);
    return { imageRef: pulled.id };
  };
}
