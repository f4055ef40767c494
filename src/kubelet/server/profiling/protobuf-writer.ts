import { Buffer } from 'node:buffer';

/** Encodes one message in the wire format of Protocol Buffers. Zero and empty values are left out, as in proto3. */
export class ProtobufWriter {
  readonly #chunks: Uint8Array[] = [];

  /** A non-negative integer. */
  integer(field: number, value: number | bigint): this {
    const size = BigInt(value);
    if (size === 0n) return this;
    this.#chunks.push(varint(BigInt(field << 3)), varint(size));
    return this;
  }

  /** A packed list of non-negative integers. */
  integers(field: number, values: readonly (number | bigint)[]): this {
    return values.length === 0 ? this : this.bytes(field, Buffer.concat(values.map((value) => varint(BigInt(value)))));
  }

  /** Empty texts are written: in a list they have a place. */
  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  message(field: number, value: ProtobufWriter): this {
    return this.bytes(field, value.finish());
  }

  bytes(field: number, value: Uint8Array): this {
    this.#chunks.push(varint(BigInt((field << 3) | 2)), varint(BigInt(value.length)), value);
    return this;
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
