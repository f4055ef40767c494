import type { Pod } from '../../api/generated/core-v1.ts';

/** The field path of a container in events: `spec.containers{web}`, `spec.initContainers{prepare}`. */
export function containerFieldPath({ spec }: Pod, name: string): string {
  const isNamed = (container: { readonly name: string }): boolean => container.name === name;
  if (spec.initContainers?.some(isNamed)) return `spec.initContainers{${name}}`;
  return `spec.${spec.ephemeralContainers?.some(isNamed) ? 'ephemeralContainers' : 'containers'}{${name}}`;
}
