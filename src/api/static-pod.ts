import { deepFreeze } from '../base/deep-freeze.ts';
import { fnv1a128 } from '../base/go/fnv.ts';
import type { Pod, Toleration } from './generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE } from './pod-names.ts';

export interface StaticPodOrigin {
  readonly source: 'file' | 'http';
  /** The path of the file, or the URL. */
  readonly location: string;
  readonly nodeName: string;
  /** When it was first seen: RFC 3339 with nanoseconds. */
  readonly seen: string;
}

/**
 * A pod of a manifest as a pod of this node. The same manifest in the same place gives the same UID, any change of it
 * another one, so that a changed manifest is another pod. A pod without a name stays without one, for validation to
 * find. The result is deeply frozen.
 */
export function toStaticPod(pod: Pod, origin: StaticPodOrigin): Pod {
  const { source, nodeName, seen } = origin;
  const { metadata, spec } = pod;
  const uid = metadata.uid || uidOf(pod, origin);
  return deepFreeze({
    ...pod,
    metadata: {
      ...metadata,
      name: metadata.name === '' ? '' : `${metadata.name}-${nodeName.toLowerCase()}`,
      namespace: metadata.namespace || 'default',
      uid,
      annotations: {
        ...metadata.annotations,
        [CONFIG_HASH]: uid,
        [CONFIG_SEEN]: seen,
        [CONFIG_SOURCE]: source,
      },
    },
    spec: {
      ...spec,
      nodeName,
      ...(source === 'file' && { tolerations: tolerateNoExecute(spec.tolerations) }),
    },
    status: { ...pod.status, phase: 'Pending' },
  });
}

/** The hash that a pod gets for a UID: 32 hexadecimal digits. */
function uidOf(pod: Pod, { source, location, nodeName }: StaticPodOrigin): string {
  const place = source === 'file' ? `host:${nodeName}file:${location}` : `url:${location}`;
  return fnv1a128(canonicalJson(pod) + place)
    .toString(16)
    .padStart(32, '0');
}

/** JSON that does not depend on the order in which an object was put together. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Static pods belong to the node: NoExecute taints do not evict them. */
function tolerateNoExecute(given: readonly Toleration[] = []): Toleration[] {
  const everything: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const isSame = ({ key, operator, value, effect }: Toleration): boolean =>
    !key && !value && operator === 'Exists' && effect === 'NoExecute';
  if (!given.some(isSame)) return [...given, everything];
  return given.map((toleration) => (isSame(toleration) ? everything : toleration));
}
