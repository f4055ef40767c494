/**
 * Writes `protocols/core-v1.tsv`: the facts of the Kubernetes API objects we read or write, taken from the OpenAPI
 * document of one Kubernetes release. Run manually when that release changes; `make` uses only the table.
 *
 *   go mod download k8s.io/kubernetes@v1.36.4
 *   scripts/node tools/extract-api-table.ts "$(go env GOMODCACHE)/k8s.io/kubernetes@v1.36.4/api/openapi-spec/swagger.json"
 *
 * Lines, separated by tabs:
 *   kind     NAME  API-VERSION
 *   message  NAME
 *   field    MESSAGE  FIELD  TYPE  single|list|map  required|optional
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KINDS = [
  'io.k8s.api.core.v1.Pod',
  'io.k8s.api.core.v1.PodList',
  'io.k8s.api.core.v1.ConfigMap',
  'io.k8s.api.core.v1.ConfigMapList',
  'io.k8s.api.core.v1.Secret',
  'io.k8s.api.core.v1.SecretList',
  'io.k8s.api.core.v1.Node',
  'io.k8s.api.core.v1.NodeList',
  'io.k8s.api.core.v1.Service',
  'io.k8s.api.core.v1.ServiceList',
  'io.k8s.api.core.v1.ServiceAccount',
  'io.k8s.api.core.v1.Event',
  'io.k8s.api.coordination.v1.Lease',
  'io.k8s.api.node.v1.RuntimeClass',
  'io.k8s.api.node.v1.RuntimeClassList',
  'io.k8s.api.core.v1.PersistentVolume',
  'io.k8s.api.core.v1.PersistentVolumeList',
  'io.k8s.api.core.v1.PersistentVolumeClaim',
  'io.k8s.api.core.v1.PersistentVolumeClaimList',
  'io.k8s.api.storage.v1.CSIDriver',
  'io.k8s.api.storage.v1.CSINode',
  'io.k8s.api.storage.v1.VolumeAttachment',
  'io.k8s.api.authentication.v1.TokenRequest',
  'io.k8s.api.authentication.v1.TokenReview',
  'io.k8s.api.authorization.v1.SubjectAccessReview',
  'io.k8s.api.certificates.v1.CertificateSigningRequest',
  'io.k8s.api.certificates.v1beta1.ClusterTrustBundle',
  'io.k8s.api.certificates.v1beta1.PodCertificateRequest',
  'io.k8s.api.resource.v1.ResourceClaim',
  'io.k8s.api.resource.v1.ResourceSlice',
  'io.k8s.api.resource.v1.ResourceSliceList',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
];

/** Definitions that are one JSON value, not an object of fields. */
const SCALARS: Record<string, string> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'int-or-string',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 'time',
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': 'object',
};

/** Definitions whose last part is the name of another one. */
const NAMES: Record<string, string> = {
  'io.k8s.api.core.v1.ResourceClaim': 'ContainerResourceClaim',
  'io.k8s.api.storage.v1.TokenRequest': 'CSIDriverTokenRequest',
};

interface Property {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly items?: Property;
  readonly additionalProperties?: Property;
}

interface Definition {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
}

/** The table for `kinds` and everything reachable from them, sorted by name. */
export function apiTable(definitions: Readonly<Record<string, Definition>>, kinds: readonly string[]): string {
  const messages = new Map<string, string[]>();
  const idOf = new Map<string, string>();
  const visit = (id: string): void => {
    const name = shortName(id);
    if ((idOf.get(name) ?? id) !== id) throw new Error(`${id} and ${idOf.get(name)} would both be called ${name}`);
    if (messages.has(name)) return;
    const lines: string[] = [];
    messages.set(name, lines);
    idOf.set(name, id);
    const { properties = {}, required = [] } = definitionOf(definitions, id);
    for (const [field, property] of Object.entries(properties).sort(byKey)) {
      const { type, shape, ref } = describe(property);
      lines.push(['field', name, field, type, shape, required.includes(field) ? 'required' : 'optional'].join('\t'));
      if (ref) visit(ref);
    }
  };
  for (const id of kinds) visit(id);
  const kindLines = kinds.map((id) => {
    const { group = '', version = 'v1' } = definitionOf(definitions, id)['x-kubernetes-group-version-kind']?.[0] ?? {};
    return ['kind', shortName(id), group === '' ? version : `${group}/${version}`].join('\t');
  });
  const messageLines = [...messages].sort(byKey).flatMap(([name, lines]) => [`message\t${name}`, ...lines]);
  return `${[...kindLines, ...messageLines].join('\n')}\n`;
}

function definitionOf(definitions: Readonly<Record<string, Definition>>, id: string): Definition {
  const found = definitions[id];
  if (!found) throw new Error(`the OpenAPI document has no ${id}`);
  return found;
}

function describe(property: Property): { type: string; shape: 'single' | 'list' | 'map'; ref?: string } {
  if (property.items) return { ...scalarOrMessage(property.items), shape: 'list' };
  if (property.additionalProperties) return { ...scalarOrMessage(property.additionalProperties), shape: 'map' };
  return { ...scalarOrMessage(property), shape: 'single' };
}

function scalarOrMessage({ $ref, type, format, items }: Property): { type: string; ref?: string } {
  if ($ref) {
    const id = $ref.replace('#/definitions/', '');
    const scalar = SCALARS[id];
    return scalar ? { type: scalar } : { type: shortName(id), ref: id };
  }
  if (type === 'string') return { type: format === 'byte' ? 'bytes' : 'string' };
  if (type === 'integer' && (format === 'int32' || format === 'int64')) return { type: format };
  if (type === 'boolean') return { type: 'bool' };
  if (type === 'array' && items?.type === 'string') return { type: 'strings' };
  throw new Error(`no name for the type ${JSON.stringify({ type, format })}`);
}

function shortName(id: string): string {
  return NAMES[id] ?? id.slice(id.lastIndexOf('.') + 1);
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

if (import.meta.main) {
  const swagger = process.argv[2];
  if (swagger === undefined) throw new Error('usage: scripts/node tools/extract-api-table.ts SWAGGER.json');
  const { definitions } = JSON.parse(readFileSync(swagger, 'utf8'));
  writeFileSync(join(import.meta.dirname, '..', 'protocols', 'core-v1.tsv'), apiTable(definitions, KINDS));
}
