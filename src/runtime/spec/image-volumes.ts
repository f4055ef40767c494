import { posix } from 'node:path';
import { volumePath } from '../images/volume-paths.ts';
import type { SpecRequest } from './spec-request.ts';

/** A folder of the container's own for each volume that the image declares and the container mounts nothing on. */
export interface DeclaredVolume {
  /** In the container and in the image: what lies there is to be copied into a new folder. */
  readonly containerPath: string;
  readonly hostPath: string;
}

export function imageDeclaredVolumes({
  container,
  image,
  volumesDir,
}: Pick<SpecRequest, 'container' | 'image' | 'volumesDir'>): DeclaredVolume[] {
  const taken = new Set(container.mounts.map(({ containerPath }) => posix.normalize(containerPath)));
  const wanted = new Set(image.volumes.map(volumePath));
  return [...wanted]
    .filter((path) => !taken.has(path) && !taken.has(`${path}/`))
    .map((containerPath, index) => ({ containerPath, hostPath: `${volumesDir}/${index}` }));
}
