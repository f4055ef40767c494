import type { Pod } from '../../api/generated/core-v1.ts';

const SOURCE_ANNOTATION = 'kubernetes.io/config.source';

/** The pod's name in its manifest: static pod `hello` on node `box` is named `hello-box`. */
export function manifestName({ metadata }: Pod, nodeName: string): string {
  const source = metadata.annotations?.[SOURCE_ANNOTATION];
  const suffix = `-${nodeName.toLowerCase()}`;
  const isStatic = source !== undefined && source !== 'api';
  return isStatic && metadata.name.endsWith(suffix) ? metadata.name.slice(0, -suffix.length) : metadata.name;
}
