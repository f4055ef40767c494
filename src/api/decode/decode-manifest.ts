/** Reads manifests: YAML or JSON, several documents a file, lists of objects. */

import type {
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
} from '../generated/core-v1.ts';
import { MANIFEST_KINDS } from '../generated/core-v1-schema.ts';
import { decodeObject, type Report } from './decode-object.ts';
import type { ManifestError, ManifestLocation } from './manifest-error.ts';
import type { YamlNode } from './yaml-tree.ts';
import { kindOfNode, parseYaml, type YamlMap, type YamlText } from './yaml-tree.ts';

/** Everything a manifest holds. A document with a error is not among the objects; the others are. */
export interface Manifest {
  readonly pods: readonly Decoded<Pod>[];
  readonly configMaps: readonly Decoded<ConfigMap>[];
  readonly secrets: readonly Decoded<Secret>[];
  readonly runtimeClasses: readonly Decoded<RuntimeClass>[];
  readonly claims: readonly Decoded<PersistentVolumeClaim>[];
  readonly volumes: readonly Decoded<PersistentVolume>[];
  readonly errors: readonly ManifestError[];
}

/** A deeply frozen object, without any defaults, and where it stands. */
export interface Decoded<T> {
  readonly object: T;
  readonly place: ManifestLocation;
  /** Where a path of the object (`spec.containers[0].image`) stands, or the nearest above it that does. */
  locate(path: string): ManifestLocation;
}

interface Reading {
  readonly file: string;
  readonly text: YamlText;
  readonly pods: Decoded<Pod>[];
  readonly configMaps: Decoded<ConfigMap>[];
  readonly secrets: Decoded<Secret>[];
  readonly runtimeClasses: Decoded<RuntimeClass>[];
  readonly claims: Decoded<PersistentVolumeClaim>[];
  readonly volumes: Decoded<PersistentVolume>[];
  readonly errors: ManifestError[];
}

/** Never throws for bad input: what is wrong with it stands in `errors`. */
export function decodeManifest(text: string, { file }: { readonly file: string }): Manifest {
  const objects = { pods: [], configMaps: [], secrets: [], runtimeClasses: [], claims: [], volumes: [] };
  const reading: Reading = { file, text: parseYaml(text), ...objects, errors: [] };
  for (const document of reading.text.documents) {
    if ('errors' in document) {
      for (const { offset, message } of document.errors) report(reading, offset, '', message);
    } else if (document.node.kind === 'map') {
      readObject(reading, document.node, '', undefined);
    } else if (document.node.kind === 'list' || document.node.value !== null) {
      report(reading, document.node.offset, '', `expected object, got ${kindOfNode(document.node)}`);
    }
  }
  const { file: _file, text: _text, ...manifest } = reading;
  return manifest;
}

/** `kindOfItems` is what an item of a typed list is when it does not say so itself. */
function readObject(reading: Reading, node: YamlMap, path: string, kindOfItems: string | undefined): void {
  const kind = stringField(node, 'kind') ?? kindOfItems;
  const apiVersion = stringField(node, 'apiVersion') ?? (kindOfItems && MANIFEST_KINDS[kindOfItems]);
  if (kind === undefined || apiVersion === undefined) {
    const what = kind === undefined ? 'Kind' : 'apiVersion';
    report(reading, node.offset, path, `Object '${what}' is missing`);
  } else if (kind === 'List' && apiVersion === 'v1') {
    readItems(reading, node, path, undefined);
  } else if (!Object.hasOwn(MANIFEST_KINDS, kind) || MANIFEST_KINDS[kind] !== apiVersion) {
    report(reading, offsetOf(node, 'kind'), path, unsupported(kind, apiVersion));
  } else if (kind.endsWith('List')) {
    readItems(reading, node, path, kind.slice(0, -'List'.length));
  } else {
    decodeOne(reading, node, kind, path);
  }
}

function readItems(reading: Reading, list: YamlMap, path: string, kind: string | undefined): void {
  for (const { key, offset } of list.duplicates) {
    report(reading, offset, join(path, key), `duplicate field ${JSON.stringify(join(path, key))}`);
  }
  for (const [key, { keyOffset }] of list.entries) {
    if (!['apiVersion', 'kind', 'metadata', 'items'].includes(key)) {
      report(reading, keyOffset, join(path, key), `unknown field ${JSON.stringify(join(path, key))}`);
    }
  }
  const items = list.entries.get('items')?.node;
  if (items === undefined || (items.kind === 'scalar' && items.value === null)) return;
  if (items.kind !== 'list') {
    report(reading, items.offset, join(path, 'items'), `expected array, got ${kindOfNode(items)}`);
    return;
  }
  for (const [index, item] of items.items.entries()) {
    const at = `${join(path, 'items')}[${index}]`;
    if (item.kind === 'map') readObject(reading, item, at, kind);
    else report(reading, item.offset, at, `expected object, got ${kindOfNode(item)}`);
  }
}

function decodeOne(reading: Reading, node: YamlMap, kind: string, path: string): void {
  const before = reading.errors.length;
  const toReport: Report = (offset, at, message) => report(reading, offset, at, message);
  const object = decodeObject(node, kind, path, toReport);
  if (reading.errors.length > before) return;
  const place = placeAt(reading, node.offset);
  const locate = (at: string): ManifestLocation => placeAt(reading, locateField(node, at));
  // The schema and the types come from the same table, so what was decoded as a kind has its type.
  if (kind === 'Pod') reading.pods.push({ object: object as Pod, place, locate });
  else if (kind === 'ConfigMap') reading.configMaps.push({ object: object as ConfigMap, place, locate });
  else if (kind === 'Secret') reading.secrets.push(decodedSecret(object as Secret, place, locate));
  else if (kind === 'RuntimeClass') reading.runtimeClasses.push({ object: object as RuntimeClass, place, locate });
  else if (kind === 'PersistentVolume') reading.volumes.push({ object: object as PersistentVolume, place, locate });
  else reading.claims.push({ object: object as PersistentVolumeClaim, place, locate });
}

/** The API server keeps `stringData` in `data`, where it wins over what stands there. */
function decodedSecret(
  { stringData = {}, ...secret }: Secret,
  place: ManifestLocation,
  locate: Decoded<Secret>['locate'],
): Decoded<Secret> {
  const texts = Object.entries(stringData);
  if (texts.length === 0) return { object: Object.freeze(secret), place, locate };
  const encoded = texts.map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const data = Object.freeze({ ...secret.data, ...Object.fromEntries(encoded) });
  const written = new Map(texts.map(([key]) => [`data[${key}]`, `stringData[${key}]`]));
  return { object: Object.freeze({ ...secret, data }), place, locate: (path) => locate(written.get(path) ?? path) };
}

function unsupported(kind: string, apiVersion: string): string {
  const kinds = Object.entries(MANIFEST_KINDS).filter(([name]) => !name.endsWith('List'));
  const known = kinds.map(([name, version]) => (version === 'v1' ? name : `${name} (${version})`)).join(', ');
  return `kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)} is not supported: a manifest may hold ${known} and lists of them`;
}

function report(reading: Reading, offset: number, path: string, message: string): void {
  reading.errors.push({ ...placeAt(reading, offset), path, message });
}

function placeAt({ file, text }: Reading, offset: number): ManifestLocation {
  return { file, ...text.positionOf(offset) };
}

function stringField(node: YamlMap, key: string): string | undefined {
  const value: YamlNode | undefined = node.entries.get(key)?.node;
  return value?.kind === 'scalar' && typeof value.value === 'string' && value.value !== '' ? value.value : undefined;
}

function offsetOf(node: YamlMap, key: string): number {
  return node.entries.get(key)?.node.offset ?? node.offset;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/**
 * Where `spec.containers[0].image` or `metadata.labels[app.kubernetes.io/name]` stands in a tree: the value when it is
 * a scalar, else its key. A path that leads nowhere gives the last step that exists.
 */
function locateField(root: YamlNode, path: string): number {
  let node = root;
  let offset = root.offset;
  for (const match of path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)) {
    const step = match[1] ?? match[2] ?? '';
    const next = stepInto(node, step);
    if (!next) break;
    node = next.node;
    offset = node.kind === 'scalar' && node.value !== null ? node.offset : next.offset;
  }
  return offset;
}

function stepInto(node: YamlNode, step: string): { node: YamlNode; offset: number } | undefined {
  if (node.kind === 'map') {
    const entry = node.entries.get(step);
    return entry && { node: entry.node, offset: entry.keyOffset };
  }
  const item = node.kind === 'list' ? node.items[Number(step)] : undefined;
  return item && { node: item, offset: item.offset };
}
