/** Numbers and truth values as Go's strconv reads them; the messages of the errors are Go's. */

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Throws an `Error` for anything but Go's ways to say true and false. */
export function parseGoBool(text: string): boolean {
  if (TRUE.has(text)) return true;
  if (FALSE.has(text)) return false;
  throw new Error(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
}

/** Decimal, or `0x`, `0o`, `0b` and a leading zero for other bases; `_` may separate digits then. */
export function parseGoInt(text: string, bits: 32 | 64): number {
  const match = /^([+-]?)(0x[0-9a-f_]+|0o?[0-7_]+|0b[01_]+|0|[1-9][0-9_]*)$/i.exec(text);
  if (!match) throw new Error(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  const [, sign = '', written = ''] = match;
  const digits = written.replaceAll('_', '').replace(/^0(?=[0-7])/, '0o');
  const size = BigInt(digits.toLowerCase());
  const value = sign === '-' ? -size : size;
  const limit = 2n ** BigInt(bits - 1);
  if (value >= limit || value < -limit) {
    throw new Error(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  }
  return Number(value);
}

/** Decimal, at most 2³¹−1. */
export function parseGoLevel(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw new Error(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  const value = Number(text);
  if (value >= 2 ** 31) throw new Error(`strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`);
  return value;
}
