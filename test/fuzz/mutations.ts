import type { Draw } from '../sim/draw.ts';

/** What a mutation may use besides its input. */
export interface MutationContext {
  readonly draw: Draw;
  /** Other inputs of the same target. */
  readonly pool: readonly Uint8Array[];
  readonly tokens: readonly Uint8Array[];
}

type Mutation = (input: Uint8Array, context: MutationContext) => Uint8Array;

/** Longer inputs only repeat what shorter ones show. */
const MAX_INPUT_BYTES = 12 * 1024;

/** Values at which parsers of binary formats fail. */
const INTEGERS = [
  0n,
  1n,
  0x7fn,
  0x80n,
  0xffn,
  0x7fffn,
  0xffffn,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 63n,
] as const;
const NUMBER_TEXTS = [
  '0',
  '-0',
  '-1',
  '00',
  '07',
  '08',
  '1e999',
  '1e-999',
  '0.1',
  '2147483648',
  '4294967295',
  '4294967296',
  '9007199254740993',
  '18446744073709551615',
  '99999999999999999999999999',
  'NaN',
  'Infinity',
  '0x10',
  '+1',
] as const;
/** A varint of more bytes than any 64-bit number has. */
const OVERLONG_VARINT = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
const BYTES = [0, 1, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x2f, 0x3a, 0x5c, 0x7b, 0x7f, 0x80, 0xc0, 0xfe, 0xff] as const;

const MUTATIONS: readonly [Mutation, ...Mutation[]] = [
  flipBit,
  setByte,
  insertBytes,
  deleteRange,
  duplicateRange,
  copyRange,
  truncate,
  splice,
  insertToken,
  insertToken,
  replaceByToken,
  overwriteByToken,
  writeInteger,
  insertVarint,
  replaceNumber,
  replaceJsonValue,
  replaceJsonValue,
  repeatRange,
  nest,
];

/** Applies a few random mutations. */
export function mutate(input: Uint8Array, context: MutationContext): Uint8Array {
  let mutated = input;
  for (let left = context.draw.pick([1, 1, 1, 2, 2, 3, 5, 8]); left > 0; left--) {
    mutated = context.draw.pick(MUTATIONS)(mutated, context).subarray(0, MAX_INPUT_BYTES);
  }
  return mutated;
}

/** Repeats a random range of the input, to measure how the work grows. */
export function pump(input: Uint8Array, draw: Draw): (bytes: number) => Uint8Array {
  const { from, to } = rangeIn(input, draw, 64);
  const unit = to > from ? input.subarray(from, to) : Uint8Array.of(draw.pick(BYTES));
  return (bytes) => {
    const times = Math.ceil(bytes / unit.length);
    return joined(input.subarray(0, from), new Uint8Array(Buffer.alloc(times * unit.length, unit)), input.subarray(to));
  };
}

function flipBit(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const copy = input.slice();
  const at = draw.int(0, copy.length - 1);
  if (copy.length > 0) copy[at] = (copy[at] ?? 0) ^ (1 << draw.int(0, 7));
  return copy;
}

function setByte(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const copy = input.slice();
  if (copy.length > 0) copy[draw.int(0, copy.length - 1)] = draw.chance(0.5) ? draw.pick(BYTES) : draw.int(0, 255);
  return copy;
}

function insertBytes(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const fresh = Uint8Array.from(draw.several(1, 8, () => (draw.chance(0.5) ? draw.pick(BYTES) : draw.int(0, 255))));
  return inserted(input, draw, fresh);
}

function deleteRange(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const { from, to } = rangeIn(input, draw, draw.pick([1, 4, 64, 1024]));
  return joined(input.subarray(0, from), input.subarray(to));
}

function duplicateRange(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const { from, to } = rangeIn(input, draw, draw.pick([4, 32, 512]));
  return inserted(input, draw, input.subarray(from, to));
}

function copyRange(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const { from, to } = rangeIn(input, draw, 64);
  const copy = input.slice();
  copy.copyWithin(draw.int(0, input.length), from, to);
  return copy;
}

function truncate(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  return input.subarray(0, draw.int(0, input.length));
}

/** The start of this input and the end of another one. */
function splice(input: Uint8Array, { draw, pool }: MutationContext): Uint8Array {
  const other = pool[draw.int(0, pool.length - 1)] ?? input;
  return joined(input.subarray(0, draw.int(0, input.length)), other.subarray(draw.int(0, other.length)));
}

function insertToken(input: Uint8Array, context: MutationContext): Uint8Array {
  return inserted(input, context.draw, tokenOf(context));
}

function replaceByToken(input: Uint8Array, context: MutationContext): Uint8Array {
  const { from, to } = rangeIn(input, context.draw, 24);
  return joined(input.subarray(0, from), tokenOf(context), input.subarray(to));
}

/** Moves no other byte: for formats with fixed offsets. */
function overwriteByToken(input: Uint8Array, context: MutationContext): Uint8Array {
  const token = tokenOf(context);
  const copy = input.slice();
  if (token.length <= copy.length) copy.set(token, context.draw.int(0, copy.length - token.length));
  return copy;
}

function writeInteger(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const width = draw.pick([1, 2, 4, 8]);
  const value = BigInt.asUintN(width * 8, draw.pick(INTEGERS) * (draw.chance(0.2) ? -1n : 1n));
  const digits = Array.from({ length: width }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn));
  const copy = input.slice();
  const at = draw.int(0, Math.max(0, copy.length - width));
  if (copy.length >= width) copy.set(draw.chance(0.7) ? digits.reverse() : digits, at);
  return copy;
}

function insertVarint(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  if (draw.chance(0.5)) return inserted(input, draw, OVERLONG_VARINT.subarray(-draw.int(1, OVERLONG_VARINT.length)));
  const value = draw.chance(0.5) ? -draw.int(1, 32) : draw.int(0, 300);
  return inserted(input, draw, varint(BigInt.asUintN(draw.pick([32, 64]), BigInt(value))));
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; rest > 0n || bytes.length === 0; rest >>= 7n)
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
  return Uint8Array.from(bytes);
}

/** Replaces one run of digits by another number. */
function replaceNumber(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
  const start = draw.int(0, Math.max(0, input.length - 1));
  let from = input.findIndex((byte, index) => index >= start && isDigit(byte));
  if (from === -1) from = input.findIndex((byte) => isDigit(byte));
  if (from === -1) return input;
  let to = from;
  while (isDigit(input[to])) to++;
  return joined(input.subarray(0, from), Buffer.from(draw.pick(NUMBER_TEXTS)), input.subarray(to));
}

const JSON_SCALAR = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null/g;
/** Values of each type; the last ones cannot be converted to a text or a number. */
const JSON_VALUES = [
  'null',
  'true',
  '0',
  '-1',
  '1.5',
  '1e400',
  '""',
  '"a"',
  '[]',
  '[[]]',
  '{}',
  '{"a":1}',
  '{"toString":1}',
] as const;

/** Replaces a scalar of JSON, or of YAML's flow style, by a value of a different type. */
function replaceJsonValue(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const text = Buffer.from(input).toString('latin1');
  const found = [...text.matchAll(JSON_SCALAR)];
  const chosen = found[draw.int(0, found.length - 1)];
  if (chosen === undefined) return input;
  const end = chosen.index + chosen[0].length;
  return joined(input.subarray(0, chosen.index), Buffer.from(draw.pick(JSON_VALUES)), input.subarray(end));
}

function repeatRange(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const { from, to } = rangeIn(input, draw, 32);
  const times = draw.pick([2, 2, 4, 8, 8, 50, 50, 1000]);
  const unit = input.subarray(from, to);
  const length = Math.min(times * unit.length, MAX_INPUT_BYTES);
  const repeated = unit.length === 0 ? unit : new Uint8Array(Buffer.alloc(length, unit));
  return joined(input.subarray(0, from), repeated, input.subarray(to));
}

/** Puts a range into many brackets. */
function nest(input: Uint8Array, { draw }: MutationContext): Uint8Array {
  const [open, close] = draw.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['(', ')'],
    ['- ', ''],
    ['{', '}'],
    ['[', ''],
  ]);
  const { from, to } = rangeIn(input, draw, 64);
  const depth = draw.pick([1, 1, 2, 2, 3, 60, 150, 150, 3000]);
  const before = Buffer.from(open.repeat(depth));
  return joined(
    input.subarray(0, from),
    before,
    input.subarray(from, to),
    Buffer.from(close.repeat(depth)),
    input.subarray(to),
  );
}

function tokenOf({ draw, tokens }: MutationContext): Uint8Array {
  return tokens[draw.int(0, tokens.length - 1)] ?? new Uint8Array();
}

function inserted(input: Uint8Array, draw: Draw, part: Uint8Array): Uint8Array {
  const at = draw.int(0, input.length);
  return joined(input.subarray(0, at), part, input.subarray(at));
}

function rangeIn(input: Uint8Array, draw: Draw, longest: number): { readonly from: number; readonly to: number } {
  const from = draw.int(0, input.length);
  return { from, to: Math.min(input.length, from + draw.int(1, longest)) };
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
