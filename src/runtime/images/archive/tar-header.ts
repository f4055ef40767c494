import { fileNameOf } from '../../../host/file-name.ts';

/** An archive that is malformed or unsafe. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, "ustar Header Block"; GNU tar differs in details. */
export interface TarHeader {
  readonly name: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly modifiedSeconds: number;
  /** One character; NUL is returned as `0`. */
  readonly type: string;
  readonly linkName: string;
  readonly major: number;
  readonly minor: number;
}

export const BLOCK_BYTES = 512;
/** No file is larger. */
export const MAX_FILE_BYTES = 2 ** 47;

/** Returns `undefined` for a block of zeros, which ends an archive. Throws `TarError`. */
export function parseTarHeader(block: Uint8Array): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  verifyChecksum(block);
  const isUstar = latin(block, 257, 6) === 'ustar\0';
  const prefix = isUstar ? textAt(block, 345, 155) : '';
  const name = textAt(block, 0, 100);
  const type = String.fromCharCode(block[156] ?? 0);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    mode: numberAt(block, 100, 8),
    uid: numberAt(block, 108, 8),
    gid: numberAt(block, 116, 8),
    size: numberAt(block, 124, 12),
    modifiedSeconds: numberAt(block, 136, 12),
    type: type === '\0' ? '0' : type,
    linkName: textAt(block, 157, 100),
    major: numberAt(block, 329, 8),
    minor: numberAt(block, 337, 8),
  };
}

/** The checksum is the sum of all bytes with its own field counted as spaces. Some archivers add signed bytes. */
function verifyChecksum(block: Uint8Array): void {
  let [sum, large] = [0, 0];
  for (const byte of block) {
    sum += byte;
    if (byte > 127) large++;
  }
  for (const byte of block.subarray(148, 156)) {
    sum += 32 - byte;
    if (byte > 127) large--;
  }
  const signed = sum - 256 * large;
  const stored = numberAt(block, 148, 8);
  if (stored !== sum && stored !== signed) throw new TarError('invalid tar header: wrong checksum');
}

/** Parses octal digits, or with the first bit set a base-256 number (GNU). */
export function numberAt(block: Uint8Array, offset: number, length: number): number {
  const field = block.subarray(offset, offset + length);
  const first = field[0] ?? 0;
  if ((first & 0x80) !== 0) return binary(field, first);
  const plain = plainOctal(field);
  if (plain !== undefined) return plain;
  const digits = latin(block, offset, length).replace(/\0.*$/s, '').trim();
  if (digits === '') return 0;
  if (!/^[0-7]+$/.test(digits)) throw new TarError(`invalid tar header: ${JSON.stringify(digits)} is not a number`);
  return Number.parseInt(digits, 8);
}

/** Fast path for nearly all fields; each header has nine of them. */
function plainOctal(field: Uint8Array): number | undefined {
  let value = 0;
  for (const byte of field) {
    if (byte === 0) break;
    if (byte < 0x30 || byte > 0x37) return undefined;
    value = value * 8 + byte - 0x30;
  }
  return value;
}

function binary(field: Uint8Array, first: number): number {
  const isNegative = (first & 0x40) !== 0;
  let value = isNegative ? -1n : BigInt(first & 0x3f);
  for (const byte of field.subarray(1)) value = (value << 8n) | BigInt(byte);
  if (value < -Number.MAX_SAFE_INTEGER || value > Number.MAX_SAFE_INTEGER) {
    throw new TarError('invalid tar header: a number is too large');
  }
  return Number(value);
}

function textAt(block: Uint8Array, offset: number, length: number): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return fileNameOf(end === -1 ? field : field.subarray(0, end));
}

function latin(block: Uint8Array, offset: number, length: number): string {
  return String.fromCharCode(...block.subarray(offset, offset + length));
}
