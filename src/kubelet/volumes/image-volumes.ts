import type { Container, ImageVolumeSource, Pod, VolumeMount } from '../../api/generated/core-v1.ts';
import { ImageSpec, type VersionResponse } from '../../cri/generated/runtime-v1.ts';
import { PodError } from '../pod/pod-error.ts';
import type { VolumeImages } from '../sync/start-container.ts';
import { unsupportedImageVolume } from './image-volume-support.ts';
import { type EnvLookup, subPathOf } from './sub-paths.ts';

export interface ImageVolumesDeps {
  readonly version: () => Promise<Pick<VersionResponse, 'runtimeName' | 'runtimeVersion'>>;
  /** Makes the image available and returns the runtime's reference to it. Rejects with a `PodError`. */
  readonly ensureImage: (image: ImageVolumeSource) => Promise<string>;
  /** Records the event of an error that is not the one thrown. */
  readonly recordError: (error: PodError) => void;
  /** The runtime handler of the pod; empty: the runtime's default. */
  readonly runtimeHandler: string;
}

/**
 * Makes the images of all image volumes that the container mounts available. As in kubelet, each mount whose image is
 * not available gets an event of its own, and the last error is that of the container. Rejects with a `PodError`.
 */
export async function ensureImageVolumes(
  pod: Pod,
  container: Container,
  deps: ImageVolumesDeps,
): Promise<VolumeImages> {
  const mounts = imageVolumeMounts(pod, container);
  if (mounts.length === 0) return new Map();
  await checkSupport(mounts, deps);
  const outcomes = await Promise.allSettled(mounts.map(({ image }) => deps.ensureImage(image)));
  const images = new Map<string, ImageSpec>();
  let last: PodError | undefined;
  for (const [index, { mount, image }] of mounts.entries()) {
    const outcome = outcomes[index];
    if (outcome?.status === 'fulfilled') images.set(mount.name, imageSpec(pod, image, outcome.value, deps));
    else {
      if (last) deps.recordError(last);
      last = imageVolumeError(mount.name, image, outcome?.reason);
    }
  }
  if (last) throw last;
  return images;
}

interface ImageVolumeMount {
  readonly mount: VolumeMount;
  readonly image: ImageVolumeSource;
}

function imageVolumeMounts({ spec }: Pod, { volumeMounts = [] }: Container): readonly ImageVolumeMount[] {
  const images = new Map((spec.volumes ?? []).map(({ name, image }) => [name, image]));
  return volumeMounts.flatMap((mount) => {
    const image = images.get(mount.name);
    return image ? [{ mount, image }] : [];
  });
}

async function checkSupport(mounts: readonly ImageVolumeMount[], deps: ImageVolumesDeps): Promise<void> {
  const version = await deps.version();
  for (const { mount } of mounts) {
    const reason = unsupportedImageVolume(version, mount);
    if (reason === undefined) continue;
    const message = `cannot mount image volume "${mount.name}": ${reason}`;
    throw new PodError('CreateContainerConfigError', message, { eventMessage: `Error: ${message}` });
  }
}

function imageSpec(
  { metadata }: Pod,
  { reference = '' }: ImageVolumeSource,
  image: string,
  { runtimeHandler }: ImageVolumesDeps,
): ImageSpec {
  const annotations = { ...metadata.annotations };
  return ImageSpec.fromPartial({ image, userSpecifiedImage: reference, runtimeHandler, annotations });
}

/** Names the volume: the error of a pull has only the image, and the container has one too. */
function imageVolumeError(volume: string, { reference: image = '' }: ImageVolumeSource, error: unknown): PodError {
  if (!(error instanceof PodError)) throw error;
  const { reason, message, eventMessage, retryAfterMs } = error;
  const podCause = { kind: 'imageVolumeFailed', volume, image } as const;
  return new PodError(reason, message, {
    cause: error,
    eventMessage,
    podCause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** The image that a mount of a container shows, or a directory of it. */
export interface ImageMount {
  readonly image: ImageSpec;
  /** Empty: the whole image. */
  readonly subPath: string;
}

/** The mounts of image volumes, by index of the mount. Throws a `PodError` for a path that leads out of the image. */
export function imageMounts(
  { volumeMounts = [] }: Container,
  images: VolumeImages,
  variable: EnvLookup,
): ReadonlyMap<number, ImageMount> {
  const mounts = new Map<number, ImageMount>();
  for (const [index, mount] of volumeMounts.entries()) {
    const image = images.get(mount.name);
    if (image) mounts.set(index, { image, subPath: subPathOf(mount, variable) });
  }
  return mounts;
}
