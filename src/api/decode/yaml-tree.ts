/** YAML or JSON text as a tree that knows where everything stands, with aliases and merge keys resolved. */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { aliasTargets } from './alias-targets.ts';

/** What an unquoted YAML scalar means to Kubernetes, which still reads YAML 1.1: `on` is true, `0644` is 420. */

export type YamlValue = string | number | bigint | boolean | null;

const WORDS: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
]);

const INTEGER = /^([-+]?)(0x[0-9a-fA-F]+|0b[01]+|0o?[0-7]+|0|[1-9][0-9]*)$/;

const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

export type YamlNode = YamlMap | YamlList | YamlScalar;

export interface YamlMap {
  readonly kind: 'map';
  readonly offset: number;
  readonly entries: ReadonlyMap<string, YamlEntry>;
  /** Keys that stand there a second time. */
  readonly duplicates: readonly { readonly key: string; readonly offset: number }[];
}

export interface YamlEntry {
  readonly keyOffset: number;
  readonly node: YamlNode;
}

export interface YamlList {
  readonly kind: 'list';
  readonly offset: number;
  readonly items: readonly YamlNode[];
}

export interface YamlScalar {
  readonly kind: 'scalar';
  readonly offset: number;
  readonly value: YamlValue;
  /** As written, without quotes. */
  readonly source: string;
  readonly quoted: boolean;
}

export interface YamlSyntaxError {
  readonly offset: number;
  readonly message: string;
}

/** One document of a text: its content, nothing when it is empty, or what is wrong with its syntax. */
export type YamlDocument = { readonly node: YamlNode } | { readonly errors: readonly YamlSyntaxError[] };

export interface YamlText {
  readonly documents: readonly YamlDocument[];
  /** Line and column of an offset, from 1. */
  positionOf(offset: number): { readonly line: number; readonly column: number };
}

/** Aliases of aliases grow without end; no honest manifest has this many values. */
const MAX_NODES = 200_000;
const MAX_DEPTH = 100;

class YamlTreeError extends Error {
  override readonly name = 'YamlTreeError';
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** What a user would call the value. */
export function kindOfNode(node: YamlNode): string {
  if (node.kind === 'map') return 'object';
  if (node.kind === 'list') return 'array';
  if (node.value === null) return 'null';
  return typeof node.value === 'bigint' ? 'number' : typeof node.value;
}

export function parseYaml(text: string): YamlText {
  const lineCounter = new LineCounter();
  // The failsafe schema leaves every scalar a string, so that its meaning is decided in one place: yaml-scalar.ts.
  const options = { lineCounter, schema: 'failsafe', uniqueKeys: false, prettyErrors: false } as const;
  const documents = parseAllDocuments(text, options);
  return {
    documents: Array.isArray(documents) ? documents.flatMap(readDocument) : [],
    positionOf(offset) {
      const { line, col } = lineCounter.linePos(offset);
      return { line: Math.max(1, line), column: Math.max(1, col) };
    },
  };
}

function readDocument(document: Document.Parsed): YamlDocument[] {
  const errors = [...document.errors, ...document.warnings].map(({ pos, message }) => ({ offset: pos[0], message }));
  if (errors.length > 0) return [{ errors: errors }];
  if (document.contents === null) return [];
  try {
    return [{ node: new TreeBuilder(document).build(document.contents, 0) }];
  } catch (error) {
    if (!(error instanceof YamlTreeError)) throw error;
    return [{ errors: [{ offset: error.offset, message: error.message }] }];
  }
}

class TreeBuilder {
  readonly #targets: ReturnType<typeof aliasTargets>;
  #nodes = 0;

  constructor(document: Document.Parsed) {
    this.#targets = aliasTargets(document);
  }

  build(node: ParsedNode, depth: number): YamlNode {
    const offset = node.range[0];
    this.#nodes++;
    if (depth > MAX_DEPTH || this.#nodes > MAX_NODES)
      throw new YamlTreeError(offset, 'document contains excessive aliasing');
    if (isAlias(node)) return this.build(this.#target(node), depth + 1);
    if (isScalar(node)) return scalarNode(node, offset);
    if (isMap(node)) return this.#map(node, offset, depth);
    if (isSeq(node)) return { kind: 'list', offset, items: node.items.map((item) => this.build(item, depth + 1)) };
    throw new YamlTreeError(offset, 'unexpected value');
  }

  #target(alias: Alias.Parsed): ParsedNode {
    const target = this.#targets.get(alias);
    if (!target?.range) throw new YamlTreeError(alias.range[0], `unknown anchor "${alias.source}" referenced`);
    return target as ParsedNode; // it has a range: it comes from this text
  }

  #map(map: YAMLMap.Parsed, offset: number, depth: number): YamlMap {
    const entries = new Map<string, YamlEntry>();
    const duplicates: { key: string; offset: number }[] = [];
    const merged: YamlNode[] = [];
    for (const { key, value } of map.items) {
      const keyOffset = key.range[0];
      if (!isScalar(key)) throw new YamlTreeError(keyOffset, 'a key must be a string');
      const node: YamlNode = value
        ? this.build(value, depth + 1)
        : { kind: 'scalar', offset: keyOffset, value: null, source: '', quoted: false };
      if (key.source === '<<' && key.type === 'PLAIN') merged.push(node);
      else if (entries.has(key.source)) duplicates.push({ key: key.source, offset: keyOffset });
      else entries.set(key.source, { keyOffset, node });
    }
    for (const node of merged) mergeInto(entries, node);
    return { kind: 'map', offset, entries, duplicates };
  }
}

/** What stands in the map itself wins over what is merged into it, and an earlier merge over a later one. */
function mergeInto(entries: Map<string, YamlEntry>, node: YamlNode): void {
  if (node.kind === 'list') {
    for (const item of node.items) mergeInto(entries, item);
  } else if (node.kind === 'map') {
    for (const [key, entry] of node.entries) if (!entries.has(key)) entries.set(key, entry);
  } else {
    throw new YamlTreeError(node.offset, 'map merge requires map or sequence of maps as the value');
  }
}

function scalarNode(scalar: Scalar.Parsed, offset: number): YamlScalar {
  const { source, type, tag } = scalar;
  const quoted = type !== 'PLAIN';
  const isText = quoted || tag === 'tag:yaml.org,2002:str';
  return { kind: 'scalar', offset, value: isText ? String(scalar.value) : resolvePlainScalar(source), source, quoted };
}

/** Integers that a `number` cannot hold exactly come as `bigint`. */
export function resolvePlainScalar(source: string): YamlValue {
  const word = WORDS.get(source);
  if (word !== undefined) return word;
  const digits = source.replaceAll('_', '');
  const integer = /^[-+0-9]/.test(source) ? INTEGER.exec(digits) : null;
  if (integer) return exactInteger(integer[1] ?? '', integer[2] ?? '');
  return /^[-+.0-9]/.test(source) && FLOAT.test(digits) ? Number(digits) : source;
}

function exactInteger(sign: string, digits: string): number | bigint {
  const octal = /^0o?([0-7]+)$/.exec(digits)?.[1];
  const size = BigInt(octal === undefined ? digits : `0o${octal}`);
  const value = sign === '-' ? -size : size;
  const asNumber = Number(value);
  return Number.isSafeInteger(asNumber) ? asNumber : value;
}
