import { CriError } from '../../cri/cri-error.ts';
import type { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { ImageStore } from '../images/image-store.ts';

/** A mount of the container that shows an image. */
export interface ImageVolume {
  /** Of its mount in `config.mounts`. */
  readonly index: number;
  readonly imageId: string;
}

/** kubelet counts failures by this word at the beginning of the message. */
const FAILED = 'ImageVolumeMountFailed';

/** Throws a `CriError` that names the field. */
export function imageVolumesOf(config: ContainerConfig, images: ImageStore): readonly ImageVolume[] {
  return config.mounts.flatMap(({ image, hostPath, readonly }, index) => {
    if (image === undefined) return [];
    const field = `config.mounts[${index}]`;
    if (hostPath !== '')
      throw refused('InvalidArgument', `${field}.host_path`, 'must be empty where an image is mounted');
    if (!readonly) throw refused('InvalidArgument', `${field}.readonly`, 'must be set where an image is mounted');
    if (image.image === '') throw refused('InvalidArgument', `${field}.image.image`, 'must be set');
    const found = images.find(image.image);
    if (!found) throw refused('NotFound', `${field}.image.image`, `image ${JSON.stringify(image.image)} not found`);
    return [{ index, imageId: found.id }];
  });
}

function refused(code: 'InvalidArgument' | 'NotFound', field: string, why: string): CriError {
  return new CriError(code, `${FAILED}: ${field}: ${why}`);
}

/** The same for what fails when it is mounted. */
export function imageVolumeFailure({ index }: ImageVolume, why: string, cause: unknown): CriError {
  return new CriError('Unknown', `${FAILED}: config.mounts[${index}]: ${why}`, { cause });
}
