import { CriError } from '../../cri/cri-error.ts';
import type { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import { IMAGE_VOLUME_MOUNT_FAILED } from '../../cri/image-volume-error.ts';
import type { ImageStore } from '../images/image-store.ts';

/** A mount of the container whose source is an image. */
export interface ImageVolume {
  /** Index in `config.mounts`. */
  readonly index: number;
  readonly imageId: string;
}

/** Throws a `CriError` that names the invalid field. */
export function resolveImageVolumes(config: ContainerConfig, images: ImageStore): readonly ImageVolume[] {
  return config.mounts.flatMap(({ image, hostPath, readonly }, index) => {
    if (image === undefined) return [];
    const field = `config.mounts[${index}]`;
    if (hostPath !== '')
      throw imageVolumeError('InvalidArgument', `${field}.host_path`, 'must be empty where an image is mounted');
    if (!readonly)
      throw imageVolumeError('InvalidArgument', `${field}.readonly`, 'must be set where an image is mounted');
    if (image.image === '') throw imageVolumeError('InvalidArgument', `${field}.image.image`, 'must be set');
    const found = images.find(image.image);
    if (!found)
      throw imageVolumeError('NotFound', `${field}.image.image`, `image ${JSON.stringify(image.image)} not found`);
    return [{ index, imageId: found.id }];
  });
}

function imageVolumeError(code: 'InvalidArgument' | 'NotFound', field: string, why: string): CriError {
  return new CriError(code, `${IMAGE_VOLUME_MOUNT_FAILED}: ${field}: ${why}`);
}

/** The error of a volume that cannot be mounted. */
export function imageVolumeMountError({ index }: ImageVolume, why: string, cause: unknown): CriError {
  return new CriError('Unknown', `${IMAGE_VOLUME_MOUNT_FAILED}: config.mounts[${index}]: ${why}`, { cause });
}
