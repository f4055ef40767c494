import { allContainers } from '../../api/all-containers.ts';
import type { Container, PodSpec } from '../../api/generated/core-v1.ts';

/** Finds a container by name among all container lists of the spec. */
export function findContainer(spec: PodSpec, name: string): Container | undefined {
  return allContainers(spec).find((container) => container.name === name);
}
