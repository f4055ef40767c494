import type { Pod } from '../../../api/generated/core-v1.ts';
import { goQuote } from '../../../base/go/go-quote.ts';

/** The pod and the addresses that the downward API exposes. */
export interface PodFieldContext {
  readonly pod: Pod;
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
}

/** The value of a downward API field. Throws kubelet's message for unsupported paths. */
export function podFieldText(path: string, { pod, podIPs, hostIPs }: PodFieldContext): string {
  const { metadata, spec } = pod;
  const open = path.indexOf("['", 1);
  if (open > 0 && path.endsWith("']") && open + 4 <= path.length) {
    return subscriptedText(path, path.slice(0, open), path.slice(open + 2, -2), pod);
  }
  switch (path) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return mapText(metadata.labels);
    case 'metadata.annotations':
      return mapText(metadata.annotations);
    case 'spec.nodeName':
    case 'spec.host':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIPs[0] ?? '';
    case 'status.hostIPs':
      return hostIPs.join(',');
    case 'status.podIP':
      return podIPs[0] ?? '';
    case 'status.podIPs':
      return podIPs.join(',');
    case 'spec.restartPolicy':
    case 'spec.schedulerName':
    case 'status.phase':
      throw new Error(`unsupported fieldPath: ${path}`); // valid in the API, but not available to containers
    default:
      throw new Error(`field label not supported: ${path}`);
  }
}

function subscriptedText(path: string, field: string, key: string, { metadata }: Pod): string {
  if (field === 'metadata.labels') return ownValue(metadata.labels, key);
  if (field === 'metadata.annotations') return ownValue(metadata.annotations, key);
  throw new Error(`field label does not support subscript: ${path}`);
}

/** Ignores inherited properties: a key may be `constructor`. */
function ownValue(map: Readonly<Record<string, string>> | undefined, key: string): string {
  return map && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

/** One `key="value"` per line, sorted by key bytes. */
function mapText(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n');
}
