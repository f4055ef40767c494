/** How pods are named in logs and maps, and where they come from. */
import type { Pod } from './generated/core-v1.ts';

export const CONFIG_SOURCE = 'kubernetes.io/config.source';
export const CONFIG_HASH = 'kubernetes.io/config.hash';
export const CONFIG_SEEN = 'kubernetes.io/config.seen';
export const CONFIG_MIRROR = 'kubernetes.io/config.mirror';

/** `web_default`: unique among the pods of a moment, but not over time. */
export function podFullName({ metadata: { name, namespace } }: Pod): string {
  return `${name}_${namespace}`;
}

/** `web_default(3c5a…)`, as the kubelet writes a pod in its log. */
export function formatPod(pod: Pod): string {
  return `${podFullName(pod)}(${pod.metadata.uid})`;
}

/** `file`, `http` or `api`; nothing before a source has taken the pod up. */
export function configSource({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[CONFIG_SOURCE];
}

/** The pod is of this node alone: the API server knows at most a mirror of it. */
export function isStaticPod(pod: Pod): boolean {
  const source = configSource(pod);
  return source !== undefined && source !== 'api';
}

/** The pod is what the API server shows for a static pod. */
export function isMirrorPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[CONFIG_MIRROR] !== undefined;
}
