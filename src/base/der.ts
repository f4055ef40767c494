/** The Distinguished Encoding Rules (X.690) as far as certificates and requests for them need them. */

/** The bytes are not valid DER. */
export class DerError extends Error {
  override readonly name = 'DerError';
}

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  objectId: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;
/** Added to the number of a context-specific tag. */
const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;
/** From this year on a time does not fit into two digits (RFC 5280). */
const FIRST_LONG_YEAR = 2050;

export function derSequence(...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(TAG.sequence, joined(parts));
}

/** The caller passes members in canonical order. */
export function derSet(...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(TAG.set, joined(parts));
}

/** `[tag]` around whole values. */
export function derContext(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(CONTEXT | CONSTRUCTED | tag, joined(parts));
}

/** `[tag] IMPLICIT` in place of a primitive value's own. */
export function derImplicit(tag: number, content: Uint8Array): Uint8Array {
  return tagged(CONTEXT | tag, content);
}

export function derBoolean(value: boolean): Uint8Array {
  return tagged(TAG.boolean, Uint8Array.of(value ? 0xff : 0));
}

/** Not below zero, the most significant byte first. */
export function derInteger(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const trimmed = first === -1 ? Uint8Array.of(0) : bytes.subarray(first);
  const isNegativeSo = ((trimmed[0] ?? 0) & 0x80) !== 0;
  return tagged(TAG.integer, isNegativeSo ? Uint8Array.of(0, ...trimmed) : trimmed);
}

export function derOctets(bytes: Uint8Array): Uint8Array {
  return tagged(TAG.octets, bytes);
}

export function derBits(bytes: Uint8Array, unusedBits = 0): Uint8Array {
  return tagged(TAG.bits, Uint8Array.of(unusedBits, ...bytes));
}

/** `1.2.840.10045.4.3.2` */
export function derObjectId(text: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return tagged(TAG.objectId, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** As Go does it: a PrintableString where its letters are enough. */
export function derText(text: string): Uint8Array {
  const isPrintable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
  return tagged(isPrintable ? TAG.printable : TAG.utf8, new TextEncoder().encode(text));
}

/** An RFC 3339 time in UTC without a fraction: `2026-11-15T09:02:09Z`. */
export function derTime(time: string): Uint8Array {
  const digits = time.replaceAll(/[-:T]/g, '');
  const isLong = Number(digits.slice(0, 4)) >= FIRST_LONG_YEAR;
  const content = new TextEncoder().encode(isLong ? digits : digits.slice(2));
  return tagged(isLong ? TAG.generalizedTime : TAG.utcTime, content);
}

export interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
  /** With tag and length. */
  readonly encoded: Uint8Array;
}

/** The values that stand one after another. Throws a `DerError`. */
export function derValues(bytes: Uint8Array): readonly DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { start, length } = contentAt(bytes, at);
    const end = start + length;
    if (end > bytes.length) throw new DerError('cannot read DER: a value is longer than what is there');
    values.push({
      tag: bytes[at] ?? 0,
      content: bytes.subarray(start, end),
      encoded: bytes.subarray(at, end),
    });
    at = end;
  }
  return values;
}

function contentAt(bytes: Uint8Array, at: number): { readonly start: number; readonly length: number } {
  const first = bytes[at + 1];
  if (first === undefined) throw new DerError('cannot read DER: a length is missing');
  if (first < 0x80) return { start: at + 2, length: first };
  const count = first & 0x7f;
  const digits = bytes.subarray(at + 2, at + 2 + count);
  if (count === 0 || count > 4 || digits.length < count) throw new DerError('cannot read DER: a length makes no sense');
  return { start: at + 2 + count, length: digits.reduce((sum, digit) => sum * 256 + digit, 0) };
}

function tagged(tag: number, content: Uint8Array): Uint8Array {
  return joined([Uint8Array.of(tag, ...lengthBytes(content.length)), content]);
}

function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return [0x80 | digits.length, ...digits];
}

function base128(value: number): readonly number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift((rest % 128) | 0x80);
  }
  return digits;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
