import type { FrameFormat } from './frame-reader.ts';

/** ttrpc's limit, which every implementation enforces. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

export const MESSAGE_HEADER_BYTES = 10;

export const MESSAGE_TYPES = { request: 1, response: 2, data: 3 } as const;

export interface MessageHeader {
  readonly length: number;
  /** Odd for the caller, and increasing. */
  readonly streamId: number;
  readonly type: number;
  readonly flags: number;
}

/** Big-endian: length (4), stream (4), type (1), flags (1). */
export const MESSAGE_FORMAT: FrameFormat<MessageHeader> = {
  headerBytes: MESSAGE_HEADER_BYTES,
  maxPayloadBytes: MAX_MESSAGE_BYTES,
  parseHeader: (header) => ({
    length: header.getUint32(0),
    streamId: header.getUint32(4),
    type: header.getUint8(8),
    flags: header.getUint8(9),
  }),
};

export function encodeMessage(header: Omit<MessageHeader, 'length'>, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(MESSAGE_HEADER_BYTES + payload.byteLength);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, payload.byteLength);
  view.setUint32(4, header.streamId);
  view.setUint8(8, header.type);
  view.setUint8(9, header.flags);
  bytes.set(payload, MESSAGE_HEADER_BYTES);
  return bytes;
}
