/** Reads the tables of KubeletConfiguration, flags and feature gates that the configuration is generated from. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GATE_NEEDS, NODE_GATES, SETTLED_GATES } from './config-feature-gates.ts';
import { FLAG_MEANINGS } from './config-flags.ts';

export type FieldKind =
  | { readonly kind: string }
  | { readonly kind: 'list' | 'map'; readonly of: FieldKind }
  | { readonly kind: 'struct'; readonly name: string };

export interface Field {
  readonly name: string;
  readonly type: FieldKind;
  /** A pointer in Go: zero is a value, not absence. */
  readonly explicitZero: boolean;
}

/** Struct → its fields, in the order of the table; only structs that KubeletConfiguration reaches. */
export type Structs = ReadonlyMap<string, readonly Field[]>;

export type JsonObject = { readonly [key: string]: unknown };

export interface Flag {
  readonly name: string;
  readonly kind: string;
  readonly default: string;
  readonly meaning: string;
  readonly words: string;
}

export interface Gate {
  readonly name: string;
  readonly stage: string;
  readonly default: boolean;
  readonly locked: boolean;
  readonly node: boolean;
  readonly needs: readonly string[];
}

/** Structs of other API groups, which the field table only names. */
const FOREIGN_STRUCTS = `
LoggingConfiguration	format	string
LoggingConfiguration	flushFrequency	TimeOrMetaDuration
LoggingConfiguration	verbosity	uint32
LoggingConfiguration	vmodule	[]VModuleItem
LoggingConfiguration	options	FormatOptions
FormatOptions	text	OutputRoutingOptions
FormatOptions	json	OutputRoutingOptions
OutputRoutingOptions	splitStream	bool
OutputRoutingOptions	infoBufferSize	resource.QuantityValue
VModuleItem	filePattern	string
VModuleItem	verbosity	uint32
TracingConfiguration	endpoint	*string
TracingConfiguration	samplingRatePerMillion	*int32
Taint	key	string
Taint	value	*string
Taint	effect	string
Taint	timeAdded	*metav1.Time
`;

const SCALARS: Readonly<Record<string, string>> = {
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  uint32: 'uint32',
  float64: 'float64',
  string: 'string',
  'metav1.Duration': 'duration',
  'metav1.Time': 'string',
  TimeOrMetaDuration: 'timeOrDuration',
  'resource.QuantityValue': 'quantity',
  ImagePullCredentialsVerificationPolicy: 'string',
  KubeletAuthorizationMode: 'string',
  MemoryReservationPolicy: 'string',
  ResourceChangeDetectionStrategy: 'string',
};

/** Flags whose kind in the table differs from the syntax of their value. */
const FLAG_KINDS: Readonly<Record<string, string>> = {
  'cpu-manager-policy-options': 'mapOfOne',
  'eviction-hard': 'mapByLess',
  'eviction-soft': 'mapByLess',
  'node-labels': 'labels',
};

const FLAG_KIND_OF_TYPE: Readonly<Record<string, string>> = {
  bool: 'bool',
  int: 'int64',
  int32: 'int32',
  duration: 'duration',
  string: 'string',
  strings: 'strings',
  ip: 'ip',
  mapStringString: 'map',
  mapStringBool: 'mapOfBool',
  colonSeparatedMultimapStringString: 'multimap',
  quantity: 'quantity',
  '[]v1.Taint': 'taints',
  'reserved-memory': 'reservedMemory',
  RuntimeDefault: 'bool',
  Level: 'level',
  'version[=true]': 'version',
  'pattern=N,...': 'vmodule',
};

export function readStructs(root: string): Structs {
  const rows = [...rowsOf(readTable(root, 'kubeletconfiguration-fields.tsv')), ...rowsOf(FOREIGN_STRUCTS)];
  const all = Map.groupBy(rows, ([struct = '']) => struct);
  const reached = new Map<string, readonly Field[]>();
  const visit = (struct: string): void => {
    if (reached.has(struct)) return;
    const fields = (all.get(struct) ?? []).map(([, name = '', type = '']) => fieldOf(name, type));
    if (fields.length === 0) throw new Error(`no fields known of ${struct}`);
    reached.set(struct, fields);
    for (const { type } of fields) for (const name of structsIn(type)) visit(name);
  };
  visit('KubeletConfiguration');
  return reached;
}

/**
 * The defaults of Kubernetes, with one exception: cgroup v1 is supported. The verbosity of 2 in the table comes from
 * kubelet's systemd unit and is not a default: an empty configuration has 0.
 */
export function readDefaults(root: string): JsonObject {
  const defaults = JSON.parse(readTable(root, 'kubeletconfiguration-defaults.json'));
  return { ...defaults, logging: { ...defaults.logging, verbosity: 0 }, failCgroupV1: false };
}

export function readFlags(root: string): readonly Flag[] {
  const meanings = new Map(
    FLAG_MEANINGS.trim()
      .split('\n')
      .map((line) => line.split(' | '))
      .map(([name = '', meaning = '', words = '']) => [name, { meaning, words }] as const),
  );
  const flags = rowsOf(readTable(root, 'kubelet-flags.tsv')).map(([name = '', type = '', value = '']) => {
    const known = meanings.get(name);
    const kind = FLAG_KINDS[name] ?? FLAG_KIND_OF_TYPE[type];
    if (!known || !kind) throw new Error(`--${name} (${type}) has no meaning in tools/config-flags.ts`);
    meanings.delete(name);
    return { name, kind, default: value.replace(/^"(.*)"$/, '$1'), ...known };
  });
  if (meanings.size > 0) throw new Error(`no flags of kubelet: ${[...meanings.keys()].join(', ')}`);
  return flags;
}

export function readGates(root: string): readonly Gate[] {
  const settled = SETTLED_GATES.trim()
    .split('\n')
    .map((line) => line.split(' '));
  const node = new Set(NODE_GATES.trim().split(/\s+/));
  const needs = new Map(
    GATE_NEEDS.trim()
      .split('\n')
      .map((line) => line.split(': '))
      .map(([gate = '', list = '']) => [gate, list.split(' ')]),
  );
  return [...rowsOf(readTable(root, 'feature-gates.tsv')), ...settled]
    .map(([name = '', stage = '', value = '', lock = '']) => ({
      name,
      stage,
      default: value === 'true',
      locked: lock === 'locked',
      node: node.has(name),
      needs: needs.get(name) ?? [],
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function fieldOf(name: string, goType: string): Field {
  return { name, type: kindOf(goType.replace(/^\*/, '')), explicitZero: goType.startsWith('*') };
}

function kindOf(goType: string): FieldKind {
  if (goType === 'v1.ResourceList') return { kind: 'map', of: { kind: 'quantity' } };
  if (goType.startsWith('[]')) return { kind: 'list', of: kindOf(goType.slice(2)) };
  if (goType.startsWith('map[string]')) return { kind: 'map', of: kindOf(goType.slice('map[string]'.length)) };
  const scalar = SCALARS[goType];
  return scalar ? { kind: scalar } : { kind: 'struct', name: goType.replace(/^\w+\./, '') };
}

function structsIn(type: FieldKind): readonly string[] {
  if ('name' in type) return [type.name];
  return 'of' in type ? structsIn(type.of) : [];
}

function readTable(root: string, name: string): string {
  return readFileSync(join(root, 'compat', name), 'utf8');
}

function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'));
}
