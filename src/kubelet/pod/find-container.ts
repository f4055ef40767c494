import { allContainers } from '../../api/all-containers.ts';
import type { Container, PodSpec } from '../../api/generated/core-v1.ts';

/** The container of that name, whichever list of the spec it stands in. */
export function findContainer(spec: PodSpec, name: string): Container | undefined {
  return allContainers(spec).find((container) => container.name === name);
}
