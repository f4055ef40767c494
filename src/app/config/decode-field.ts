import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { formatDuration, parseDuration } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { didYouMean } from './closest-name.ts';
import type { FieldKind, ScalarKind, StructSchema } from './field-schema.ts';
import { type JsonObject, type JsonValue, objectOf, withoutNulls } from './json-value.ts';

/** The location of a value, and where its errors are reported. */
export interface DecodeContext {
  readonly structs: Readonly<Record<string, StructSchema>>;
  /** Unknown fields are errors instead of warnings. */
  readonly isStrict: boolean;
  readonly aliases: ReadonlyMap<Alias, Node>;
  report(severity: 'warning' | 'error', at: Node | undefined, path: string, message: string): void;
}

/** Fields that a struct may have besides those of its schema, already looked at. */
const HEADER = ['apiVersion', 'kind'];

/**
 * The value of a node that should be of that kind, in its canonical text (`60s` is `1m0s`); `undefined`, and a report,
 * when it is not. Null stays null: it means absence in a file and removal in a drop-in.
 */
export function decodeField(
  node: unknown,
  type: FieldKind,
  path: string,
  context: DecodeContext,
): JsonValue | undefined {
  const found = isAlias(node) ? context.aliases.get(node) : node;
  if (found === null || found === undefined || (isScalar(found) && found.value === null)) return null;
  if (type.kind === 'struct') return decodeStruct(found, type.name, path, context);
  if (type.kind === 'map') return decodeMap(found, type.of, path, context);
  if (type.kind === 'list') return decodeList(found, type.of, path, context);
  if (!isScalar(found)) return refuse(found, expectation(type.kind), path, context);
  return decodeScalar(found, type.kind, path, context);
}

/** Every field that is right; unknown ones are reported. */
export function decodeStruct(
  node: unknown,
  struct: string,
  path: string,
  context: DecodeContext,
): JsonObject | undefined {
  if (!isMap(node)) return refuse(node, 'a map', path, context);
  const schema = schemaOf(struct, context);
  const decoded: Record<string, JsonValue> = {};
  for (const [name, pair] of entriesOf(node, context)) {
    if (path === '' && HEADER.includes(name)) continue;
    const field = schema.get(name);
    const inner = path === '' ? name : `${path}.${name}`;
    if (!field) {
      const { isStrict } = context;
      const message = `unknown field ${JSON.stringify(name)}${isStrict ? '' : ' is ignored'}${didYouMean(name, schema.keys())}`;
      context.report(isStrict ? 'error' : 'warning', nodeOf(pair.key), inner, message);
      continue;
    }
    const value = decodeField(pair.value, field.type, inner, context);
    if (value !== undefined) decoded[name] = value;
  }
  return decoded;
}

function schemaOf(struct: string, { structs }: DecodeContext): StructSchema {
  const schema = structs[struct];
  if (schema === undefined) throw new Error(`no schema of struct ${struct}`);
  return schema;
}

function decodeMap(node: unknown, of: FieldKind, path: string, context: DecodeContext): JsonObject | undefined {
  if (!isMap(node)) return refuse(node, 'a map', path, context);
  const decoded: Record<string, JsonValue> = {};
  for (const [name, pair] of entriesOf(node, context)) {
    const value = decodeField(pair.value, of, `${path}[${JSON.stringify(name)}]`, context);
    if (value !== undefined) decoded[name] = value;
  }
  return decoded;
}

function decodeList(node: unknown, of: FieldKind, path: string, context: DecodeContext): JsonValue | undefined {
  if (!isSeq(node)) return refuse(node, 'a list', path, context);
  return node.items.flatMap((item, index) => {
    const inner = `${path}[${index}]`;
    const value = decodeField(item, of, inner, context);
    if (value === undefined) return [];
    if (value !== null) return [of.kind === 'struct' ? withZeros(value, schemaOf(of.name, context)) : value];
    refuse(item, expectation(of.kind), inner, context);
    return [];
  });
}

/** An element of a list has no defaults, and nothing to remove: what it does not say is Go's zero. */
function withZeros(value: JsonValue, struct: StructSchema): JsonValue {
  const zeros = [...struct].filter(([, field]) => !field.explicitZero);
  return {
    ...Object.fromEntries(zeros.map(([name, field]) => [name, zeroOf(field.type)])),
    ...objectOf(withoutNulls(value)),
  };
}

function zeroOf({ kind }: FieldKind): JsonValue {
  if (kind === 'string') return '';
  return kind === 'map' ? {} : 0;
}

function decodeScalar(
  node: Node & { value: unknown },
  kind: ScalarKind,
  path: string,
  context: DecodeContext,
): JsonValue | undefined {
  const { value } = node;
  switch (kind) {
    case 'bool':
      if (typeof value === 'boolean') return value;
      break;
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'float64':
      if (typeof value === 'number') return value;
      break;
    case 'int32':
    case 'int64':
    case 'uint32':
      if (typeof value === 'number' && Number.isSafeInteger(value) && fits(value, kind)) return value;
      break;
    case 'duration':
      if (typeof value === 'string') return canonical(() => formatDuration(parseDuration(value)), node, path, context);
      break;
    case 'timeOrDuration':
      if (typeof value === 'string') return canonical(() => formatDuration(parseDuration(value)), node, path, context);
      if (Number.isSafeInteger(value)) return formatDuration(BigInt(Number(value))); // nanoseconds, as of old
      break;
    case 'quantity':
      if (typeof value === 'string' || typeof value === 'number') {
        return canonical(() => parseQuantity(value).toString(), node, path, context);
      }
      break;
  }
  return refuse(node, expectation(kind), path, context);
}

function canonical(text: () => string, node: Node, path: string, context: DecodeContext): string | undefined {
  try {
    return text();
  } catch (error) {
    context.report('error', node, path, errorText(error));
    return undefined;
  }
}

const LIMITS = { int32: [-(2 ** 31), 2 ** 31 - 1], uint32: [0, 2 ** 32 - 1] } as const;

function fits(value: number, kind: 'int32' | 'int64' | 'uint32'): boolean {
  if (kind === 'int64') return true;
  const [low, high] = LIMITS[kind];
  return value >= low && value <= high;
}

function expectation(kind: FieldKind['kind']): string {
  const words: Partial<Record<FieldKind['kind'], string>> = {
    bool: 'true or false',
    string: 'a string',
    float64: 'a number',
    int64: 'a whole number',
    int32: `a whole number between ${LIMITS.int32.join(' and ')}`,
    uint32: `a whole number between ${LIMITS.uint32.join(' and ')}`,
    duration: 'a duration such as "1m0s"',
    timeOrDuration: 'a duration such as "1m0s"',
    quantity: 'a quantity such as "100Mi"',
  };
  return words[kind] ?? `a ${kind === 'list' ? 'list' : 'map'}`;
}

function refuse(node: unknown, expected: string, path: string, context: DecodeContext): undefined {
  context.report('error', nodeOf(node), path, `expected ${expected}, got ${foundText(node)}`);
}

function foundText(node: unknown): string {
  if (isMap(node)) return 'a map';
  if (isSeq(node)) return 'a list';
  const value = isScalar(node) ? node.value : null;
  return value === null ? 'nothing' : `the ${typeof value} ${JSON.stringify(value)}`;
}

type Entry = readonly [name: string, pair: Pair];

/** What a merge key (`<<`) brings in yields to what stands there. `above` are the maps that are being merged into. */
function entriesOf(map: YAMLMap, context: DecodeContext, above: readonly YAMLMap[] = []): readonly Entry[] {
  if (above.includes(map)) {
    context.report('error', map, '', `the anchor ${JSON.stringify(map.anchor ?? '')} contains itself`);
    return [];
  }
  const own: Entry[] = [];
  const merged: Entry[] = [];
  for (const pair of map.items) {
    const key = isScalar(pair.key) ? pair.key.value : pair.key;
    const isMerge = typeof key === 'symbol' || key === '<<';
    if (isMerge) merged.push(...mergedEntries(pair.value, context, [...above, map]));
    else own.push([String(key), pair]);
  }
  // Of several maps that are merged the first one wins.
  return [...new Map([...merged.toReversed(), ...own])];
}

function mergedEntries(value: unknown, context: DecodeContext, above: readonly YAMLMap[]): readonly Entry[] {
  const target = isAlias(value) ? context.aliases.get(value) : value;
  if (isSeq(target)) return target.items.flatMap((item) => mergedEntries(item, context, above));
  return isMap(target) ? entriesOf(target, context, above) : [];
}

function nodeOf(value: unknown): Node | undefined {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : undefined;
}
