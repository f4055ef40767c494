/** Both stop here: a deep value is not followed to its end. */
const MAX_DEPTH = 200;
const SHAPE_DEPTH = 4;
const SHAPE_ITEMS = 4;

/** A rough count of the bytes that a value keeps. Stops counting above `limit`. */
export function weightOf(value: unknown, limit: number): number {
  const stack: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  let weight = 0;
  for (let next = stack.pop(); next !== undefined && weight <= limit; next = stack.pop()) {
    const { value: each, depth } = next;
    weight += ownWeight(each);
    if (depth < MAX_DEPTH) for (const part of partsOf(each)) stack.push({ value: part, depth: depth + 1 });
  }
  return weight;
}

function ownWeight(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value === 'bigint') return 16 + value.toString(16).length / 2;
  return value instanceof Uint8Array ? 32 + value.byteLength : 16;
}

function partsOf(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return [...value].flat();
  return value instanceof Set ? [...value] : Object.entries(value).flat();
}

/** Which fields and kinds of values are there, without the values: inputs with the same signature are alike. */
export function signatureOf(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null) return scalarSignature(value);
  if (value instanceof Uint8Array) return `bytes${lengthClass(value.byteLength)}`;
  const entries = entriesOf(value);
  if (depth >= SHAPE_DEPTH) return `${Array.isArray(value) ? 'list' : 'object'}${lengthClass(entries.length)}`;
  const parts = entries.slice(0, SHAPE_ITEMS * 3).map(([key, part]) => `${key}${signatureOf(part, depth + 1)}`);
  return `{${lengthClass(entries.length)}${[...new Set(parts)].join(',')}}`;
}

function scalarSignature(value: unknown): string {
  if (typeof value === 'string') return `s${lengthClass(value.length)}`;
  if (typeof value === 'number')
    return Number.isInteger(value) ? `i${Math.sign(value)}${lengthClass(Math.abs(value))}` : 'f';
  return typeof value === 'boolean' ? String(value) : typeof value;
}

function entriesOf(value: object): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value) || value instanceof Set) return [...value].map((item) => ['', item]);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return entries.map(([key, item]) => [String(key).slice(0, 12), item]);
}

/** 0, 1, then powers of eight. */
function lengthClass(length: number): number {
  return length < 2 ? length : 2 + Math.floor(Math.log2(length) / 3);
}
