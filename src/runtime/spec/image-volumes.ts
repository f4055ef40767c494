import { posix } from 'node:path';
import { volumePath } from '../images/volume-paths.ts';
import type { SpecRequest } from './spec-request.ts';

/** A directory of the container for each volume that the image declares and the container does not mount over. */
export interface DeclaredVolume {
  /** Path in the container and in the image: the image's content is copied into the new directory. */
  readonly containerPath: string;
  readonly hostPath: string;
}

export function imageDeclaredVolumes({
  container,
  image,
  volumesDir,
}: Pick<SpecRequest, 'container' | 'image' | 'volumesDir'>): DeclaredVolume[] {
  const taken = new Set(container.mounts.map(({ containerPath }) => posix.normalize(containerPath)));
  const declared = new Set(image.volumes.map(volumePath));
  return [...declared]
    .filter((path) => !taken.has(path) && !taken.has(`${path}/`))
    .map((containerPath, index) => ({ containerPath, hostPath: `${volumesDir}/${index}` }));
}
