/** Frames as a client sends them. */

export const MASK = [0x11, 0x22, 0x33, 0x44] as const;

interface ClientFrame {
  /** Absent: a binary message. */
  readonly opcode?: number;
  /** Absent: the last part of its message. */
  readonly isFinal?: boolean;
}

/** A masked frame. */
export function clientFrame(
  payload: Uint8Array | string,
  { opcode = 2, isFinal = true }: ClientFrame = {},
): Uint8Array {
  const data = Buffer.from(payload);
  const { length } = data;
  const first = (isFinal ? 0x80 : 0) | opcode;
  const size = Buffer.alloc(length > 0xffff ? 8 : length > 125 ? 2 : 0);
  if (size.length === 8) size.writeBigUInt64BE(BigInt(length));
  if (size.length === 2) size.writeUInt16BE(length);
  const short = size.length === 8 ? 127 : size.length === 2 ? 126 : length;
  const masked = data.map((byte, at) => byte ^ (MASK[at & 3] ?? 0));
  return Buffer.concat([Uint8Array.of(first, 0x80 | short), size, Uint8Array.from(MASK), masked]);
}

export interface ServerFrame {
  readonly opcode: number;
  readonly data: Buffer;
}

/** Reads the frames of a server. They are not masked. */
export async function* serverFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerFrame> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    for (let frame = firstFrame(rest); frame; frame = firstFrame(rest)) {
      rest = rest.subarray(frame.size);
      yield { opcode: frame.opcode, data: frame.data };
    }
  }
}

function firstFrame(bytes: Buffer): (ServerFrame & { readonly size: number }) | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1);
  const head = 2 + (short === 127 ? 8 : short === 126 ? 2 : 0);
  if (bytes.length < head) return undefined;
  const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  if (bytes.length < head + length) return undefined;
  const data = Buffer.from(bytes.subarray(head, head + length));
  return { opcode: bytes.readUInt8(0) & 0x0f, data, size: head + length };
}
