/** The part of gRPC's health checking protocol that probes use. */

export const HEALTH_CHECK = '/grpc.health.v1.Health/Check';

const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

const VARINT = 0;
const EIGHT_BYTES = 1;
const SIZED = 2;
const FOUR_BYTES = 5;
const MAX_FIELD = 2 ** 29 - 1;
const MAX_UINT64 = 2n ** 64n - 1n;

const INVALID = 'cannot parse invalid wire-format data';

/** `HealthCheckRequest`: the name of a service in field 1; empty for the server as a whole. */
export function healthRequest(service: string): Uint8Array {
  const text = new TextEncoder().encode(service);
  if (text.length === 0) return text;
  return Uint8Array.of((1 << 3) | SIZED, ...varint(text.length), ...text);
}

/** Returns the name of the status in a `HealthCheckResponse`, or its number. Throws for invalid messages. */
export function healthStatus(message: Uint8Array): string {
  const number = statusNumber(message);
  return STATUSES[number] ?? String(number);
}

function statusNumber(message: Uint8Array): number {
  const reader = { message, at: 0 };
  let status = 0;
  while (reader.at < message.length) {
    const { field, wireType } = readKey(reader);
    // An enum keeps the lower 32 bits of its number.
    if (field === 1 && wireType === VARINT) status = Number(BigInt.asIntN(32, readVarint(reader)));
    else skip(reader, wireType);
  }
  return status;
}

interface Reader {
  readonly message: Uint8Array;
  at: number;
}

function readKey(reader: Reader): { readonly field: number; readonly wireType: number } {
  const key = readVarint(reader);
  const field = Number(key >> 3n);
  if (field < 1 || field > MAX_FIELD) throw new Error(INVALID);
  return { field, wireType: Number(key & 7n) };
}

function skip(reader: Reader, wireType: number): void {
  if (wireType === VARINT) readVarint(reader);
  else if (wireType === EIGHT_BYTES) reader.at += 8;
  else if (wireType === FOUR_BYTES) reader.at += 4;
  else if (wireType === SIZED) {
    const size = readVarint(reader);
    reader.at += Number(size);
  } else throw new Error(INVALID);
  if (reader.at > reader.message.length) throw new Error('unexpected EOF');
}

/** Unsigned: a size of 2³² − 1 must not count as −1. */
function readVarint(reader: Reader): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = reader.message[reader.at++];
    if (byte === undefined) throw new Error('unexpected EOF');
    value |= BigInt(byte & 0x7f) << shift;
    if (value > MAX_UINT64) break;
    if (byte < 0x80) return value;
  }
  throw new Error(INVALID);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
