import { parseQuantity, QuantityError } from '../../base/quantity.ts';
import { parseNanoTime, TimeError } from '../../base/rfc3339.ts';
import { kindOfNode, type YamlNode, type YamlScalar } from './yaml-tree.ts';

type Report = (message: string) => void;
type Decode = (node: YamlNode, report: Report) => unknown;

const INT32_MAX = 2n ** 31n - 1n;
const INT64_MAX = 2n ** 63n - 1n;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['string', text],
  ['confidential', confidentialText],
  ['bytes', base64],
  ['time', time],
  ['int32', (node, report) => integer(node, 'int32', INT32_MAX, report)],
  ['int64', (node, report) => integer(node, 'int64', INT64_MAX, report)],
  ['bool', bool],
  ['quantity', quantity],
  ['int-or-string', intOrString],
  ['object', plainValue],
]);

/** The value of a node that is not an object of the schema. Reports a value that does not have the type. */
export function decodeScalar(node: YamlNode, type: string, report: Report): unknown {
  const decode = DECODERS.get(type);
  if (!decode) throw new Error(`the schema has the unknown type ${type}`);
  return decode(node, report);
}

/** What a field that is always there holds before it is set. */
export function zeroScalar(type: string): unknown {
  if (type === 'int32' || type === 'int64' || type === 'int-or-string') return 0;
  if (type === 'bool') return false;
  if (type === 'quantity') return '0';
  return type === 'object' ? Object.freeze({}) : '';
}

function text(node: YamlNode, report: Report): string {
  if (node.kind === 'scalar' && typeof node.value === 'string') return node.value;
  report(`expected string, got ${kindOfNode(node)}${quoteHint(node)}`);
  return '';
}

/** What is in it must not show in a message. */
function confidentialText(node: YamlNode, report: Report): string {
  if (node.kind === 'scalar' && typeof node.value === 'string') return node.value;
  report(`expected string, got ${kindOfNode(node)}${isPlain(node) ? ' (quote it)' : ''}`);
  return '';
}

function base64(node: YamlNode, report: Report): string {
  const value = confidentialText(node, report).replace(/[\r\n]/g, '');
  if (value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) report('expected base64 data');
  return value;
}

function time(node: YamlNode, report: Report): string {
  const value = text(node, report);
  try {
    if (value !== '') parseNanoTime(value);
  } catch (error) {
    if (!(error instanceof TimeError)) throw error;
    report(error.message);
  }
  return value;
}

function integer(node: YamlNode, type: string, max: bigint, report: Report): number {
  const value = numberOf(node);
  if (value === undefined) {
    report(`expected integer, got ${kindOfNode(node)}${unquoteHint(node)}`);
    return 0;
  }
  if (typeof value === 'number' && !Number.isInteger(value)) {
    report(`expected integer, got number ${value}`);
    return 0;
  }
  const exact = BigInt(value);
  if (exact > max || exact < -max - 1n) report(`number ${exact} does not fit ${type}`);
  return Number(exact);
}

function bool(node: YamlNode, report: Report): boolean {
  if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
  report(`expected boolean, got ${kindOfNode(node)}${unquoteHint(node)}`);
  return false;
}

function quantity(node: YamlNode, report: Report): string {
  if (node.kind !== 'scalar' || node.value === null || typeof node.value === 'boolean') {
    report(`expected quantity, got ${kindOfNode(node)}`);
    return '0';
  }
  const value = String(node.value).trim();
  try {
    parseQuantity(value);
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    report(error.message);
  }
  return value;
}

function intOrString(node: YamlNode, report: Report): string | number {
  if (node.kind === 'scalar' && typeof node.value === 'string') return node.value;
  if (numberOf(node) !== undefined) return integer(node, 'int32', INT32_MAX, report);
  report(`expected integer or string, got ${kindOfNode(node)}`);
  return 0;
}

/** A value whose shape the schema leaves open. */
function plainValue(node: YamlNode): unknown {
  if (node.kind === 'list') return Object.freeze(node.items.map(plainValue));
  if (node.kind === 'scalar') return typeof node.value === 'bigint' ? Number(node.value) : node.value;
  return Object.freeze(Object.fromEntries([...node.entries].map(([key, entry]) => [key, plainValue(entry.node)])));
}

function numberOf(node: YamlNode): number | bigint | undefined {
  const value = node.kind === 'scalar' ? node.value : undefined;
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

/** YAML reads an unquoted `on`, `1.0` or `0644` as a boolean or a number. */
function quoteHint(node: YamlNode): string {
  return isPlain(node) ? ` (quote it: ${JSON.stringify(node.source)})` : '';
}

function unquoteHint(node: YamlNode): string {
  return node.kind === 'scalar' && node.quoted ? ` ${JSON.stringify(node.source)}` : '';
}

function isPlain(node: YamlNode): node is YamlScalar {
  return node.kind === 'scalar' && !node.quoted;
}
