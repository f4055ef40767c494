/** Writes the Kubernetes types and the decoder's schema from `protocols/core-v1.tsv`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiField, type ApiTable, parseApiTable, reachable } from './api-table.ts';
import type { Generated } from './generate.ts';

const FOLDER = 'src/api/generated';
const HEADER =
  "// Written by tools/generate-api.ts from protocols/core-v1.tsv; change those and run 'make generate'.\n";

/** The kinds of manifests; only these and the messages that they need are decoded at run time. */
const MANIFEST_KINDS = [
  'Pod',
  'ConfigMap',
  'Secret',
  'RuntimeClass',
  'PersistentVolumeClaim',
  'PersistentVolume',
].flatMap((kind) => [kind, `${kind}List`]);

/** Stored objects always have these fields, though the OpenAPI document calls them optional. */
const ALWAYS_THERE = new Set(['metadata', 'spec', 'items']);

const SCALARS: Record<string, string> = {
  string: 'string',
  bytes: 'string',
  time: 'Time',
  int32: 'number',
  int64: 'number',
  bool: 'boolean',
  quantity: 'Quantity',
  'int-or-string': 'IntOrString',
  object: 'Readonly<Record<string, unknown>>',
  strings: 'ReadonlyArray<string>',
};

const PRELUDE = `
/** As in \`100Mi\` or \`1\`; base/quantity.ts reads it. */
export type Quantity = string | number;

export type IntOrString = string | number;

/** RFC 3339; base/rfc3339.ts reads and writes it. */
export type Time = string;

/** Metadata of an object that has a name. */
export interface NamedMeta extends ObjectMeta {
  readonly name: string;
}

/** Metadata of a pod: empty strings for fields that a manifest does not set, until they are defaulted. */
export interface PodMeta extends NamedMeta {
  readonly namespace: string;
  readonly uid: string;
}
`;

export function generateApi(root: string): Generated {
  const table = parseApiTable(readFileSync(join(root, 'protocols/core-v1.tsv'), 'utf8'));
  return {
    folders: [FOLDER],
    files: new Map([
      [`${FOLDER}/core-v1.ts`, typesText(table)],
      [`${FOLDER}/core-v1-schema.ts`, schemaText(table)],
    ]),
  };
}

function typesText(table: ApiTable): string {
  const interfaces = reachable(table, table.kinds.keys()).map((name) => interfaceText(table, name));
  return [HEADER, PRELUDE, ...interfaces.map((text) => `\n${text}`)].join('');
}

function interfaceText(table: ApiTable, message: string): string {
  const lines = fieldsOf(table, message).map((field) => {
    const type = typeOf(field);
    return field.required ? `  readonly ${field.name}: ${type};` : `  readonly ${field.name}?: ${type} | undefined;`;
  });
  if (lines.length === 0) return `export type ${message} = Readonly<Record<string, never>>;\n`;
  return [`export interface ${message} {`, ...lines, '}', ''].join('\n');
}

/** The fields of a message, with facts about the kinds that the OpenAPI document does not contain. */
function fieldsOf(table: ApiTable, message: string): readonly ApiField[] {
  const fields = table.messages.get(message) ?? [];
  if (!table.kinds.has(message)) return fields;
  return fields.map((field) => {
    if (field.type === 'ListMeta' || !ALWAYS_THERE.has(field.name)) return field;
    const type = field.type === 'ObjectMeta' ? (message === 'Pod' ? 'PodMeta' : 'NamedMeta') : field.type;
    return { ...field, type, required: true };
  });
}

function typeOf({ type, shape }: ApiField): string {
  const one = SCALARS[type] ?? type;
  if (shape === 'list') return `ReadonlyArray<${one}>`;
  return shape === 'map' ? `Readonly<Record<string, ${one}>>` : one;
}

function schemaText(table: ApiTable): string {
  const metas = ['PodMeta', 'NamedMeta'];
  const messages = reachable(table, MANIFEST_KINDS).map((name) => schemaEntry(name, fieldsOf(table, name)));
  const objectMeta = table.messages.get('ObjectMeta') ?? [];
  const metaEntries = metas.map((name) => {
    const always = name === 'PodMeta' ? ['name', 'namespace', 'uid'] : ['name'];
    return schemaEntry(
      name,
      objectMeta.map((field) => ({ ...field, required: always.includes(field.name) })),
    );
  });
  const kinds = MANIFEST_KINDS.map((kind) => `  ${kind}: '${table.kinds.get(kind)}',`);
  return [
    HEADER,
    '\n/** The kinds of manifests: kind → API version. */\n',
    `export const MANIFEST_KINDS: Readonly<Record<string, string>> = {\n${kinds.join('\n')}\n};\n`,
    '\n/** Message → field → type, with `[]` for a list, `{}` for a map and a final `!` for a field that is always present. */\n',
    'export const SCHEMA: Readonly<Record<string, Readonly<Record<string, string>>>> = {\n',
    ...[...messages, ...metaEntries].map((entry) => `${entry}\n`),
    '};\n',
  ].join('');
}

function schemaEntry(message: string, fields: readonly ApiField[]): string {
  const suffix = { single: '', list: '[]', map: '{}' };
  const entries = fields.map(
    ({ name, type, shape, required }) => `${name}: '${type}${suffix[shape]}${required ? '!' : ''}'`,
  );
  return entries.length === 0 ? `  ${message}: {},` : `  ${message}: { ${entries.join(', ')} },`;
}
