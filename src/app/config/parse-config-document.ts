import {
  type Document,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Tags,
  type YAMLError,
} from 'yaml';
import { aliasTargets } from '../../api/decode/alias-targets.ts';
import type { ConfigDiagnostic } from './config-diagnostic.ts';
import { type DecodeContext, decodeStruct } from './decode-field.ts';
import type { JsonObject } from './json-value.ts';

export interface ParsedConfigFile {
  /** The fields that are right, each in its canonical text. Null is kept: in a drop-in it removes a field. */
  readonly config: JsonObject;
  readonly diagnostics: readonly ConfigDiagnostic[];
}

/** A kind of configuration file. */
export interface DocumentKind {
  readonly apiVersion: string;
  /** Also the name of its struct. */
  readonly kind: string;
  readonly structs: DecodeContext['structs'];
  /** Unknown fields and further documents are errors instead of warnings. */
  readonly isStrict: boolean;
  /** `kubelet config file`: in messages. */
  readonly description: string;
}

/**
 * Reads a configuration from YAML or JSON. Wrong types and broken text are errors, unknown fields warnings or errors; each
 * names its place in the file.
 */
export function parseConfigDocument(text: string, file: string, kind: DocumentKind): ParsedConfigFile {
  if (text.trim() === '') {
    return {
      config: {},
      diagnostics: [{ severity: 'error', file, message: `${kind.description} "${file}" was empty` }],
    };
  }
  const lines = new LineCounter();
  const diagnostics: ConfigDiagnostic[] = [];
  const documents = parseAllDocuments(text, { ...YAML_1_1, lineCounter: lines, prettyErrors: false });
  const document: Document | undefined = documents[0];
  const place = (offset: number) => ({ line: lines.linePos(offset).line, column: lines.linePos(offset).col });
  for (const error of documents.flatMap(({ errors }) => errors)) {
    diagnostics.push({ severity: 'error', file, ...place(error.pos[0]), message: yamlError(error, text) });
  }
  if (!document || diagnostics.length > 0) return { config: {}, diagnostics: diagnostics };
  const { structs, isStrict } = kind;
  const context: DecodeContext = {
    structs,
    isStrict,
    aliases: aliasTargets(document),
    report: (severity, node, path, message) =>
      diagnostics.push({ severity, file, ...(node?.range ? place(node.range[0]) : {}), path, message }),
  };
  if (documents.length > 1) {
    const message = isStrict ? 'expected one document' : 'only the first document of a file is read';
    context.report(isStrict ? 'error' : 'warning', nodeOf(documents[1]?.contents), '', message);
  }
  return { config: decodeDocument(document, kind, context), diagnostics: diagnostics };
}

function decodeDocument(document: Document, { apiVersion, kind }: DocumentKind, context: DecodeContext): JsonObject {
  const root = document.contents;
  const isOurs = [
    checkHeader(document, 'apiVersion', apiVersion, context),
    checkHeader(document, 'kind', kind, context),
  ].every((fits) => fits);
  // The fields of another kind would all be unknown ones.
  return isOurs || !isMap(root) ? (decodeStruct(root, kind, '', context) ?? {}) : {};
}

/** False when the document says that it is something else. */
function checkHeader(document: Document, field: string, expected: string, context: DecodeContext): boolean {
  const root = document.contents;
  if (!isMap(root)) return true; // reported when the fields are read
  const node = root.get(field, true);
  const found = isScalar(node) ? node.value : node;
  if (found === expected) return true;
  const isMissing = found === undefined || found === null || found === '';
  const words = isMissing ? 'found none' : `found ${JSON.stringify(found)}`;
  context.report('error', nodeOf(node) ?? root, field, `expected ${JSON.stringify(expected)}, ${words}`);
  return isMissing;
}

function yamlError({ code, message, pos }: YAMLError, text: string): string {
  if (code !== 'DUPLICATE_KEY') return `cannot parse YAML: ${message}`;
  const key = /^["']?([^"':\s]*)/.exec(text.slice(pos[0]))?.[1] ?? '';
  return `the key ${JSON.stringify(key)} stands twice in one map`;
}

function nodeOf(value: unknown): Node | undefined {
  return isScalar(value) || isMap(value) ? value : undefined;
}

/** Kubernetes reads YAML 1.1 (`yes` is true), but neither its times of day (`1:30`) nor its dates. */
const YAML_1_1 = {
  version: '1.1',
  uniqueKeys: true,
  customTags: (tags: Tags): Tags => tags.filter((tag) => typeof tag === 'string' || !isTimeTag(tag)),
} as const;

function isTimeTag(tag: { readonly tag: string; readonly format?: string }): boolean {
  return tag.format === 'TIME' || tag.tag === 'tag:yaml.org,2002:timestamp';
}
