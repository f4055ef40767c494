import type { ContainerResourceClaim, ResourceRequirements } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import { fnv1a32 } from '../../base/go/fnv.ts';
import { goJson } from '../../base/go/go-json.ts';
import { parseGoJson } from '../../base/go/parse-go-json.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { PodResources } from './pod-allocation.ts';

/** By pod UID. */
export type ResourcesByPod = ReadonlyMap<string, PodResources>;

/**
 * The text of kubelet's `allocated_pods_state` and `actuated_pods_state`, byte for byte: JSON within JSON, with the
 * hash of Go's print of the inner text.
 */
export function encodeResources(pods: ResourcesByPod): string {
  const data = pods.size === 0 ? '{}' : objectText([['entries', mapText(pods, podText)]]);
  return goJson({ data, checksum: checksumOf(data) });
}

/** Throws kubelet's message for a file that kubelet rejects too. Unknown fields are ignored. */
export function decodeResources(text: string): ResourcesByPod {
  const { data = '', checksum = 0 } = jsonFields(parseGoJson(text));
  if (typeof data !== 'string') throw new Error('data is not a string');
  if (checksum !== checksumOf(data)) throw new Error('checkpoint is corrupted');
  const { entries } = jsonFields(parseGoJson(data), 'failed to get pod resource information: ');
  return decodeMap(entries, decodePod);
}

function checksumOf(data: string): number {
  return fnv1a32(`(string)${data}`);
}

/** Values are immutable, so each text is encoded once: every write contains all pods, and most are unchanged. */
const texts = new WeakMap<PodResources, string>();

function podText(resources: PodResources): string {
  const known = texts.get(resources) ?? newPodText(resources);
  texts.set(resources, known);
  return known;
}

function newPodText({ containers, pod }: PodResources): string {
  return objectText([
    ['ContainerResources', mapText(containers, requirementsText)],
    ['PodLevelResources', pod ? requirementsText(pod) : 'null'],
  ]);
}

/** Go's encoding: canonical quantities, no empty lists. */
export function requirementsText({ limits, requests, claims = [] }: ResourceRequirements): string {
  return objectText([
    ...listFields('limits', limits),
    ...listFields('requests', requests),
    ...(claims.length > 0 ? [field('claims', goJson(claims.map(({ name, request }) => ({ name, request }))))] : []),
  ]);
}

function listFields(name: string, list: ResourceList = {}): Field[] {
  const amounts = new Map(Object.entries(list).map(([resource, amount]) => [resource, goJson(canonical(amount))]));
  return amounts.size > 0
    ? [
        field(
          name,
          mapText(amounts, (amount) => amount),
        ),
      ]
    : [];
}

function canonical(amount: string | number): string {
  return parseQuantity(amount).toString();
}

type Field = readonly [key: string, json: string];

function field(key: string, json: string): Field {
  return [key, json];
}

/** Go's order of map keys: by code point, `10` before `9`. */
function mapText<T>(map: ReadonlyMap<string, T>, text: (value: T) => string): string {
  const ordered = [...map].sort(([one], [other]) => (one < other ? -1 : 1));
  return objectText(ordered.map(([key, value]) => field(key, text(value))));
}

function objectText(fields: readonly Field[]): string {
  return `{${fields.map(([key, json]) => `${goJson(key)}:${json}`).join(',')}}`;
}

function decodePod(value: unknown): PodResources {
  const { ContainerResources, PodLevelResources } = jsonFields(value);
  const ofPod = PodLevelResources ?? undefined;
  return {
    containers: decodeMap(ContainerResources, decodeRequirements),
    ...(ofPod !== undefined && { pod: decodeRequirements(ofPod) }),
  };
}

function decodeRequirements(value: unknown): ResourceRequirements {
  const { limits, requests, claims } = jsonFields(value);
  const [limited, requested] = [decodeMap(limits, decodeQuantity), decodeMap(requests, decodeQuantity)];
  return {
    ...(limited.size > 0 && { limits: Object.fromEntries(limited) }),
    ...(requested.size > 0 && { requests: Object.fromEntries(requested) }),
    ...(Array.isArray(claims) && claims.length > 0 && { claims: claims.map(decodeClaim) }),
  };
}

function decodeQuantity(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new Error('quantity is neither a string nor a number');
  return canonical(value);
}

function decodeClaim(value: unknown): ContainerResourceClaim {
  const { name = '', request } = jsonFields(value);
  return { name: String(name), ...(request !== undefined && { request: String(request) }) };
}

function decodeMap<T>(value: unknown, one: (inner: unknown) => T): Map<string, T> {
  return new Map(Object.entries(jsonFields(value)).map(([key, inner]) => [key, one(inner)]));
}

type Fields = Readonly<Record<string, unknown>>;

/** Go decodes null and absent values as empty. */
function jsonFields(value: unknown, errorPrefix = ''): Fields {
  if (value === undefined || value === null) return {};
  if (!isFields(value)) throw new Error(`${errorPrefix}not a JSON object`);
  return value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
