/** The part of gRPC's health checking protocol that probes use. */

export const HEALTH_CHECK = '/grpc.health.v1.Health/Check';

const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

const VARINT = 0;
const EIGHT_BYTES = 1;
const SIZED = 2;
const FOUR_BYTES = 5;

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
    const key = readVarint(reader);
    if (key === ((1 << 3) | VARINT)) status = readVarint(reader);
    else skip(reader, key & 7);
  }
  return status;
}

interface Reader {
  readonly message: Uint8Array;
  at: number;
}

function skip(reader: Reader, wireType: number): void {
  if (wireType === VARINT) readVarint(reader);
  else if (wireType === EIGHT_BYTES) reader.at += 8;
  else if (wireType === FOUR_BYTES) reader.at += 4;
  else if (wireType === SIZED) {
    const size = readVarint(reader);
    reader.at += size;
  } else throw new Error(`cannot parse invalid wire-format data`);
  if (reader.at > reader.message.length) throw new Error('unexpected EOF');
}

/** Keeps the lower 32 bits, as protobuf does for enums. */
function readVarint(reader: Reader): number {
  let value = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = reader.message[reader.at++];
    if (byte === undefined) throw new Error('unexpected EOF');
    if (shift < 32) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw new Error('cannot parse invalid wire-format data');
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
