import type { HeaderReader } from './header-blocks.ts';
import { CONTROL_TYPE, FLAG, MAX_STREAM_ID, type SpdyFrame, SpdyProtocolError } from './spdy-frames.ts';

export interface RawControlFrame {
  readonly type: number;
  readonly flags: number;
  readonly payload: Uint8Array;
}

/** Must be called for every frame, also ignored ones: header blocks share one compression state. */
export function decodeControlFrame(raw: RawControlFrame, headers: HeaderReader): SpdyFrame | undefined {
  const { type, flags, payload } = raw;
  const fin = (flags & FLAG.fin) !== 0;
  const word = (index: number): number => wordAt(payload, index);
  switch (type) {
    case CONTROL_TYPE.synStream: {
      const unidirectional = (flags & FLAG.unidirectional) !== 0;
      const streamId = streamIdAt(payload);
      return { kind: 'synStream', streamId, headers: headers.read(payload.subarray(10)), fin, unidirectional };
    }
    case CONTROL_TYPE.synReply:
      return { kind: 'synReply', streamId: streamIdAt(payload), headers: headers.read(payload.subarray(4)), fin };
    case CONTROL_TYPE.headers:
      return { kind: 'headers', streamId: streamIdAt(payload), headers: headers.read(payload.subarray(4)), fin };
    case CONTROL_TYPE.rstStream:
      return { kind: 'rstStream', streamId: streamIdAt(payload), status: word(1) };
    case CONTROL_TYPE.ping:
      return { kind: 'ping', id: word(0) };
    case CONTROL_TYPE.goAway:
      return { kind: 'goAway', lastStreamId: word(0) & MAX_STREAM_ID, status: word(1) };
    case CONTROL_TYPE.settings:
      return { kind: 'settings' };
    case CONTROL_TYPE.windowUpdate:
      return { kind: 'windowUpdate', streamId: word(0) & MAX_STREAM_ID, bytes: word(1) & MAX_STREAM_ID };
    default:
      return undefined; // unknown frames are ignored
  }
}

function streamIdAt(payload: Uint8Array): number {
  const id = wordAt(payload, 0) & MAX_STREAM_ID;
  if (id === 0) throw new SpdyProtocolError('a frame has stream id 0');
  return id;
}

function wordAt(payload: Uint8Array, index: number): number {
  if (payload.length < 4 * index + 4) throw new SpdyProtocolError('a control frame is too short');
  return new DataView(payload.buffer, payload.byteOffset).getUint32(4 * index);
}
