/** References to fields of the pod and to resources of its containers. */
import { qualifiedNameErrors } from '../../base/name-syntax.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { ObjectFieldSelector, ResourceFieldSelector } from '../generated/core-v1.ts';
import { type FieldErrors, invalid, invalidFor, oneOf, required } from './field-error.ts';

const KNOWN_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

const RESOURCES = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

const BYTE_DIVISORS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** `supported` is what may stand there without a subscript. */
export function* validateFieldRef(
  path: string,
  { apiVersion, fieldPath }: ObjectFieldSelector,
  supported: readonly string[],
): FieldErrors {
  if (!apiVersion) return yield required(`${path}.apiVersion`);
  if (fieldPath === '') return yield required(`${path}.fieldPath`);
  const converting = (why: string) => invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: ${why}`);
  if (apiVersion !== 'v1') return yield converting(`unsupported pod version: ${apiVersion}`);
  const [, base, subscript] = /^([^[]+)\['(.*)'\]$/.exec(fieldPath) ?? [];
  if (base !== undefined && subscript !== undefined) {
    if (base === 'metadata.annotations') {
      yield* invalidFor(path, subscript.toLowerCase(), qualifiedNameErrors(subscript.toLowerCase()));
    } else if (base === 'metadata.labels') {
      yield* invalidFor(path, subscript, qualifiedNameErrors(subscript));
    } else {
      yield converting(`field label does not support subscript: ${fieldPath}`);
    }
    return;
  }
  const field = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
  if (KNOWN_FIELDS.includes(field)) yield* oneOf(`${path}.fieldPath`, field, supported);
  else yield converting(`field label not supported: ${fieldPath}`);
}

/** In a volume the container must be named; in an environment it is the one the variable is for. */
export function* validateResourceFieldRef(
  path: string,
  { containerName, resource, divisor }: ResourceFieldSelector,
  { inVolume = false }: { readonly inVolume?: boolean } = {},
): FieldErrors {
  if (inVolume && !containerName) yield required(`${path}.containerName`);
  else if (resource === '') yield required(`${path}.resource`);
  else if (!isHugePages(resource)) yield* oneOf(`${path}.resource`, resource, RESOURCES);
  if (divisor !== undefined) yield* validateDivisor(`${path}.divisor`, resource, parseQuantity(divisor).toString());
}

function* validateDivisor(path: string, resource: string, divisor: string): FieldErrors {
  if (divisor === '0') return;
  const isCpu = resource.endsWith('.cpu');
  const kind = isCpu ? 'cpu' : isHugePages(resource) ? 'hugepages' : BYTE_RESOURCES.get(resource);
  if (kind === undefined || (isCpu ? ['1m', '1'] : BYTE_DIVISORS).includes(divisor)) return;
  const values = isCpu ? '1m and 1' : BYTE_DIVISORS.join(', ');
  yield invalid(path, resource, `only divisor's values ${values} are supported with the ${kind} resource`);
}

const BYTE_RESOURCES: ReadonlyMap<string, string> = new Map([
  ['limits.memory', 'memory'],
  ['requests.memory', 'memory'],
  ['limits.ephemeral-storage', 'local ephemeral storage'],
  ['requests.ephemeral-storage', 'local ephemeral storage'],
]);

function isHugePages(resource: string): boolean {
  return /^(limits|requests)\.hugepages-/.test(resource);
}
