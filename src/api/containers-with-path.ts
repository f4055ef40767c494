import type { Container, PodSpec } from './generated/core-v1.ts';

/** Every container of a pod and where it stands: init, regular, then ephemeral ones. */
export function containersWithPath(spec: PodSpec): { path: string; container: Container }[] {
  const lists: readonly (readonly [string, readonly Container[]])[] = [
    ['initContainers', spec.initContainers ?? []],
    ['containers', spec.containers],
    ['ephemeralContainers', spec.ephemeralContainers ?? []],
  ];
  return lists.flatMap(([name, list]) =>
    list.map((container, index) => ({ path: `spec.${name}[${index}]`, container })),
  );
}
