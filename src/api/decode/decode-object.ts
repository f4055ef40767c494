/** Turns a YAML tree into an API object by the generated schema, and says everything that does not fit. */

import { SCHEMA } from '../generated/core-v1-schema.ts';
import { decodeScalar, zeroScalar } from './decode-scalar.ts';
import { kindOfNode, type YamlMap, type YamlNode } from './yaml-tree.ts';

interface FieldType {
  readonly type: string;
  readonly shape: 'single' | 'list' | 'map';
  readonly required: boolean;
}

/** Receives each error: its offset, field path and message. */
export type Report = (offset: number, path: string, message: string) => void;

const MESSAGES: ReadonlyMap<string, ReadonlyMap<string, FieldType>> = new Map(
  Object.entries(SCHEMA).map(([message, fields]) => [
    message,
    new Map(Object.entries(fields).map(([field, text]) => [field, parseFieldType(text)])),
  ]),
);
/** The schema knows how a value is written, not who may see it. */
const CONFIDENTIAL: ReadonlyMap<string, FieldType> = new Map([['Secret.stringData', parseFieldType('confidential{}')]]);

/**
 * An object of the named message. As in Kubernetes, `null` is the same as leaving a field out; a field that is always
 * there gets its zero value. What is reported is left out of the object.
 */
export function decodeObject(node: YamlMap, message: string, path: string, report: Report): object {
  const fields = MESSAGES.get(message) ?? new Map<string, FieldType>();
  for (const { key, offset } of node.duplicates) {
    const at = join(path, key);
    report(offset, at, `duplicate field ${JSON.stringify(at)}`);
  }
  const decoded: [string, unknown][] = [];
  for (const [key, entry] of node.entries) {
    const field = CONFIDENTIAL.get(`${message}.${key}`) ?? fields.get(key);
    const at = join(path, key);
    if (!field) report(entry.keyOffset, at, `unknown field ${JSON.stringify(at)}`);
    else if (!isNull(entry.node)) decoded.push([key, decodeField(entry.node, field, at, report)]);
  }
  const present = new Set(decoded.map(([key]) => key));
  const missing = [...fields].filter(([key, field]) => field.required && !present.has(key));
  const zeros = missing.map(([key, field]) => [key, zeroField(field)]);
  return Object.freeze(Object.fromEntries([...decoded, ...zeros]));
}

/** A message with only its required fields, each empty. */
export function zeroObject(message: string): object {
  const empty: YamlMap = { kind: 'map', offset: 0, entries: new Map(), duplicates: [] };
  return decodeObject(empty, message, '', () => {});
}

function decodeField(node: YamlNode, field: FieldType, path: string, report: Report): unknown {
  const { type, shape } = field;
  if (shape === 'single') return decodeValue(node, type, path, report);
  if (shape === 'list') {
    if (node.kind === 'list') {
      return Object.freeze(node.items.map((item, index) => decodeValue(item, type, `${path}[${index}]`, report)));
    }
    report(node.offset, path, `expected array, got ${kindOfNode(node)}`);
    return zeroField(field);
  }
  if (node.kind !== 'map') {
    report(node.offset, path, `expected object, got ${kindOfNode(node)}`);
    return zeroField(field);
  }
  for (const { key, offset } of node.duplicates) {
    report(offset, `${path}[${key}]`, `duplicate field ${JSON.stringify(join(path, key))}`);
  }
  const entries = [...node.entries].map(([key, entry]) => [
    key,
    decodeValue(entry.node, type, `${path}[${key}]`, report),
  ]);
  return Object.freeze(Object.fromEntries(entries));
}

function decodeValue(node: YamlNode, type: string, path: string, report: Report): unknown {
  if (isNull(node)) return zeroValue(type);
  if (!MESSAGES.has(type)) return decodeScalar(node, type, (message) => report(node.offset, path, message));
  if (node.kind === 'map') return decodeObject(node, type, path, report);
  report(node.offset, path, `expected object, got ${kindOfNode(node)}`);
  return zeroValue(type);
}

function zeroField({ type, shape }: FieldType): unknown {
  if (shape === 'list') return Object.freeze([]);
  return shape === 'map' ? Object.freeze({}) : zeroValue(type);
}

function zeroValue(type: string): unknown {
  return MESSAGES.has(type) ? zeroObject(type) : zeroScalar(type);
}

function isNull(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function parseFieldType(text: string): FieldType {
  const required = text.endsWith('!');
  const bare = required ? text.slice(0, -1) : text;
  const shape = bare.endsWith('[]') ? 'list' : bare.endsWith('{}') ? 'map' : 'single';
  return { type: shape === 'single' ? bare : bare.slice(0, -2), shape, required };
}
