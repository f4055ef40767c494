import type { Pod } from '../../api/generated/core-v1.ts';

/** How an event points at one container: `spec.containers{web}`, `spec.initContainers{prepare}`. */
export function containerFieldPath({ spec }: Pod, name: string): string {
  const isInit = spec.initContainers?.some((container) => container.name === name) ?? false;
  return `spec.${isInit ? 'initContainers' : 'containers'}{${name}}`;
}
