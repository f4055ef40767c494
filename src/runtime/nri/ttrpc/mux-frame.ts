import type { FrameFormat } from './frame-reader.ts';
import { MAX_MESSAGE_BYTES, MESSAGE_HEADER_BYTES } from './ttrpc-frame.ts';

/** NRI runs two ttrpc connections over one socket: the plugin is called on the first, the runtime on the second. */
export const MUX_CONNECTIONS = { plugin: 1, runtime: 2 } as const;

const MUX_HEADER_BYTES = 8;

export interface MuxHeader {
  readonly connection: number;
  readonly length: number;
}

/** Big-endian: connection (4), length (4). Frame boundaries are independent of message boundaries. */
export const MUX_FORMAT: FrameFormat<MuxHeader> = {
  headerBytes: MUX_HEADER_BYTES,
  maxPayloadBytes: MESSAGE_HEADER_BYTES + MAX_MESSAGE_BYTES,
  parseHeader: (header) => ({ connection: header.getUint32(0), length: header.getUint32(4) }),
};

/**
 * NRI's own library reads the first frame of a message into a buffer of 4096 bytes and fails if it is larger; the rest
 * of the message may be one frame of any length. It also fails if more than 256 frames are pending, so many small
 * frames are no alternative.
 */
const FIRST_FRAME_BYTES = 4096;

/** Encodes one ttrpc message in frames that every implementation accepts. */
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
