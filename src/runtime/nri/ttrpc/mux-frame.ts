import type { FrameFormat } from './frame-reader.ts';
import { MAX_MESSAGE_BYTES, MESSAGE_HEADER_BYTES } from './ttrpc-frame.ts';

/** NRI runs two connections of ttrpc over one socket: a plugin is called on the first, the runtime on the second. */
export const MUX_CONNECTIONS = { plugin: 1, runtime: 2 } as const;

const MUX_HEADER_BYTES = 8;

export interface MuxHeader {
  readonly connection: number;
  readonly length: number;
}

/** Big-endian: connection (4), length (4). What one frame holds has nothing to do with where messages begin or end. */
export const MUX_FORMAT: FrameFormat<MuxHeader> = {
  headerBytes: MUX_HEADER_BYTES,
  maxPayloadBytes: MESSAGE_HEADER_BYTES + MAX_MESSAGE_BYTES,
  parseHeader: (header) => ({ connection: header.getUint32(0), length: header.getUint32(4) }),
};

/**
 * The reader of NRI's own library takes a frame whole into a buffer of 4096 bytes when a message begins, and fails when
 * it is larger; the rest of the message may be one frame of any length. It also gives up when more than 256 frames wait,
 * so many small ones are no way out.
 */
const FIRST_FRAME_BYTES = 4096;

/** One message of ttrpc, in frames that every reader takes. */
export function encodeMuxFrames(connection: number, message: Uint8Array): Uint8Array {
  const first = message.subarray(0, FIRST_FRAME_BYTES);
  const rest = message.subarray(FIRST_FRAME_BYTES);
  const parts = rest.byteLength === 0 ? [first] : [first, rest];
  const bytes = new Uint8Array(message.byteLength + parts.length * MUX_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const part of parts) {
    view.setUint32(offset, connection);
    view.setUint32(offset + 4, part.byteLength);
    bytes.set(part, offset + MUX_HEADER_BYTES);
    offset += MUX_HEADER_BYTES + part.byteLength;
  }
  return bytes;
}
