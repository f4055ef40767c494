/** Writes src/app/config/generated from the tables of KubeletConfiguration, flags and feature gates. */
import {
  type Field,
  type FieldKind,
  type Flag,
  type Gate,
  type JsonObject,
  readDefaults,
  readFlags,
  readGates,
  readStructs,
  type Structs,
} from './config-tables.ts';
import type { Generated } from './generate.ts';

const FOLDER = 'src/app/config/generated';
const HEADER = "// Generated from compat/ by tools/generate-config.ts; change those and run 'make generate'.\n";

/** Defaults that apply only while their gate is on: path → gate. */
const GATED_DEFAULTS: Readonly<Record<string, string>> = {
  'crashLoopBackOff.maxContainerRestartPeriod': 'KubeletCrashLoopBackOffMax',
  imagePullCredentialsVerificationPolicy: 'KubeletEnsureSecretPulledImages',
};

/** Deterministic: the same tables give the same text. */
export function generateConfig(root: string): Generated {
  const structs = readStructs(root);
  const defaults = readDefaults(root);
  const texts: Record<string, string> = {
    'kubelet-configuration.ts': configurationTypes(structs, defaults),
    'kubelet-configuration-schema.ts': configurationSchema(structs),
    'defaults.ts': defaultsText(defaults),
    'flags.ts': flagsText(readFlags(root), defaults),
    'feature-gates.ts': gatesText(readGates(root)),
  };
  const files = Object.entries(texts).map(([name, text]) => [`${FOLDER}/${name}`, `${HEADER}${text}`] as const);
  return { folders: [FOLDER], files: new Map(files) };
}

function configurationTypes(structs: Structs, defaults: JsonObject): string {
  const always = alwaysPresent(structs, defaults);
  const interfaces = [...structs].map(([name, fields]) => {
    const lines = fields.map((field) => {
      const mark = always.has(`${name}.${field.name}`) ? '' : '?';
      return `  readonly ${field.name}${mark}: ${typeText(field.type)};\n`;
    });
    const head =
      name === 'KubeletConfiguration'
        ? '/**\n * kubelet.config.k8s.io/v1beta1 as in files. Fields with a default are always present after defaulting;\n' +
          " * of the rest, absence is Go's zero.\n */\n"
        : '';
    return `${head}export interface ${name} {\n${lines.join('')}}\n`;
  });
  return `${WIRE_TYPES}\n${interfaces.join('\n')}`;
}

const WIRE_TYPES = `
/** A Go duration: \`1m0s\`. */
export type DurationText = string;

/** A Kubernetes quantity: \`100Mi\`. */
export type QuantityText = string;
`;

/** `Struct.field` of the fields that are always defaulted, whatever the gates, and of those that list items always have. */
function alwaysPresent(structs: Structs, defaults: JsonObject): ReadonlySet<string> {
  const present = new Set<string>();
  const visit = (struct: string, value: JsonObject | undefined, above: readonly string[]): void => {
    for (const field of structs.get(struct) ?? []) {
      const inner = value?.[field.name];
      const path = [...above, field.name];
      const isThere = value === undefined ? !field.explicitZero : inner !== undefined;
      if (isThere && !(path.join('.') in GATED_DEFAULTS)) present.add(`${struct}.${field.name}`);
      if ('name' in field.type && isObject(inner)) visit(field.type.name, inner, path);
      if ('of' in field.type && 'name' in field.type.of) visit(field.type.of.name, undefined, path);
    }
  };
  visit('KubeletConfiguration', defaults, []);
  return present;
}

function typeText(type: FieldKind): string {
  if ('name' in type) return type.name;
  if ('of' in type) {
    const inner = typeText(type.of);
    return type.kind === 'map' ? `Readonly<Record<string, ${inner}>>` : `readonly ${inner}[]`;
  }
  const texts: Record<string, string> = {
    bool: 'boolean',
    string: 'string',
    duration: 'DurationText',
    timeOrDuration: 'DurationText',
    quantity: 'QuantityText',
  };
  return texts[type.kind] ?? 'number';
}

function configurationSchema(structs: Structs): string {
  const names = [...structs.keys()].map((name) => `'${name}'`).join(' | ');
  const tables = [...structs].map(([name, fields]) => {
    const rows = fields.map(
      ({ name: field, type, explicitZero }) =>
        `    ['${field}', { type: ${literal(type)}, explicitZero: ${explicitZero} }],\n`,
    );
    return `  ${name}: new Map<string, FieldSchema<StructName>>([\n${rows.join('')}  ]),\n`;
  });
  const paths = durationPaths(structs, 'KubeletConfiguration', []).map((path) => `  '${path.join('.')}',\n`);
  return `
import type { FieldSchema } from '../field-schema.ts';

export type StructName = ${names};

/** Every struct that KubeletConfiguration reaches: field → its type. */
export const STRUCTS: Readonly<Record<StructName, ReadonlyMap<string, FieldSchema<StructName>>>> = {
${tables.join('')}};

/** The paths of durations in KubeletConfiguration. */
export const DURATION_PATHS = [
${paths.join('')}] as const;

export type DurationPath = (typeof DURATION_PATHS)[number];
`;
}

function durationPaths(structs: Structs, struct: string, above: readonly string[]): readonly (readonly string[])[] {
  return (structs.get(struct) ?? []).flatMap((field: Field) => {
    const path = [...above, field.name];
    if (/duration/i.test(field.type.kind)) return [path];
    return 'name' in field.type ? durationPaths(structs, field.type.name, path) : [];
  });
}

function defaultsText(defaults: JsonObject): string {
  return `import type { KubeletConfiguration } from './kubelet-configuration.ts';

/** The defaults of an empty KubeletConfiguration. */
export const KUBELET_DEFAULTS = ${JSON.stringify(defaults, undefined, 2)} satisfies KubeletConfiguration;

/** Defaults that apply only while a feature gate is on: path → gate. */
export const GATED_DEFAULTS: Readonly<Record<string, string>> = ${JSON.stringify(GATED_DEFAULTS, undefined, 2)};
`;
}

function flagsText(flags: readonly Flag[], defaults: JsonObject): string {
  const kinds = [...new Set(flags.map(({ kind }) => kind))].sort((a, b) => (a < b ? -1 : 1));
  const own = flags.filter(({ meaning }) => meaning.startsWith('=')).map(({ meaning }) => meaning.slice(1));
  const rows = flags.map((flag) => {
    const meaning = meaningOf(flag.meaning);
    const value = 'path' in meaning ? textOfDefault(valueAt(defaults, meaning.path)) : flag.default;
    return `  ${literal({ name: flag.name, kind: flag.kind, default: value, meaning, words: flag.words })},\n`;
  });
  return `
/** The syntax of a flag's value. */
export type FlagKind = ${union(kinds)};

/** The properties of flags without a field of KubeletConfiguration. */
export type OwnFlag = ${union(own)};

export type FlagMeaning =
  | { readonly class: 'field'; readonly path: readonly string[] }
  | { readonly class: 'own'; readonly property: OwnFlag }
  | { readonly class: 'none' };

export interface FlagSpec {
  /** Without dashes. */
  readonly name: string;
  readonly kind: FlagKind;
  /** In the syntax of the flag; empty without a default. */
  readonly default: string;
  readonly meaning: FlagMeaning;
  readonly words: string;
}

/** Every flag of kubelet, in alphabetical order. */
export const FLAGS: readonly FlagSpec[] = [
${rows.join('')}];
`;
}

type Meaning = { class: 'field'; path: string[] } | { class: 'own'; property: string } | { class: 'none' };

function meaningOf(text: string): Meaning {
  if (text.startsWith('.')) return { class: 'field', path: text.slice(1).split('.') };
  if (text.startsWith('=')) return { class: 'own', property: text.slice(1) };
  return { class: 'none' };
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}

function textOfDefault(value: unknown): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return value.join(',');
  if (isObject(value))
    return Object.entries(value)
      .map(([key, inner]) => `${key}<${inner}`)
      .join(',');
  return String(value);
}

function gatesText(gates: readonly Gate[]): string {
  const rows = gates.map(({ name, ...spec }) => `  ['${name}', ${literal(spec)}],\n`);
  return `
export interface FeatureGateSpec {
  readonly stage: 'ALPHA' | 'BETA' | 'GA' | 'DEPRECATED';
  readonly default: boolean;
  /** It can only be set to its default. */
  readonly locked: boolean;
  /** A node agent reads it. */
  readonly node: boolean;
  /** The gates that must be on while it is. */
  readonly needs: readonly string[];
}

/** Every feature gate of kubelet, in alphabetical order. */
export const FEATURE_GATES: ReadonlyMap<string, FeatureGateSpec> = new Map<string, FeatureGateSpec>([
${rows.join('')}]);
`;
}

function union(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' | ');
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${key}: ${literal(inner)}`)
    .join(', ')} }`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
