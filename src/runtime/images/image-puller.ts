import type { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import type { StoredImage } from './image-store.ts';

/** Brings images from registries in, through `ImageIngest`. */
export interface ImagePuller {
  /**
   * `reference` is whole: `docker.io/library/busybox:1.36`, or with a digest instead of the tag. Resolves when the image
   * is recorded under it (and under `name@digest`). Rejects with a `CriError`.
   */
  pull(reference: string, auth: AuthConfig | undefined, signal: AbortSignal): Promise<StoredImage>;
}
