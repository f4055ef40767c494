import type { Pod } from '../../api/generated/core-v1.ts';

const SOURCE_ANNOTATION = 'kubernetes.io/config.source';

/** The name that its manifest gave a pod: a static pod `hello` of node `box` is called `hello-box`. */
export function manifestName({ metadata }: Pod, nodeName: string): string {
  const source = metadata.annotations?.[SOURCE_ANNOTATION];
  const suffix = `-${nodeName.toLowerCase()}`;
  const isStatic = source !== undefined && source !== 'api';
  return isStatic && metadata.name.endsWith(suffix) ? metadata.name.slice(0, -suffix.length) : metadata.name;
}
