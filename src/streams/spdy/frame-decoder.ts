import { decodeControlFrame } from './decode-control-frame.ts';
import { HeaderReader } from './header-blocks.ts';
import {
  FLAG,
  FRAME_HEADER_BYTES,
  MAX_STREAM_ID,
  SPDY_VERSION,
  type SpdyFrame,
  SpdyProtocolError,
} from './spdy-frames.ts';

/** Kubernetes' control frames have less than 200 bytes. */
const MAX_CONTROL_BYTES = 16 * 1024;

/** The frame that is being read, after its header. */
type Body =
  | { readonly kind: 'data'; readonly streamId: number; readonly fin: boolean; left: number }
  | {
      readonly kind: 'control';
      readonly type: number;
      readonly flags: number;
      readonly payload: Uint8Array;
      read: number;
    };

/**
 * Decodes frames from bytes that are split anywhere.
 * 1. Data is never buffered: each part is yielded as a view of the chunk it arrived in.
 * 2. Only headers and control frames are buffered, at most `MAX_CONTROL_BYTES`.
 */
export class FrameDecoder {
  readonly #headers = new HeaderReader();
  readonly #head = new DataView(new ArrayBuffer(FRAME_HEADER_BYTES));
  #headRead = 0;
  #body: Body | undefined;

  /** Throws `SpdyProtocolError`; the decoder cannot be used afterwards. */
  *frames(chunk: Uint8Array): Generator<SpdyFrame, void, void> {
    for (let at = 0; at < chunk.length || isComplete(this.#body); ) {
      if (this.#body === undefined) {
        at += this.#readHead(chunk.subarray(at));
        continue;
      }
      const { taken, frame } = this.#readBody(this.#body, chunk.subarray(at));
      at += taken;
      if (isComplete(this.#body)) this.#body = undefined;
      if (frame) yield frame;
    }
  }

  /** Returns how many bytes belong to the header. */
  #readHead(bytes: Uint8Array): number {
    const taken = Math.min(FRAME_HEADER_BYTES - this.#headRead, bytes.length);
    for (let index = 0; index < taken; index++) this.#head.setUint8(this.#headRead + index, bytes[index] ?? 0);
    this.#headRead += taken;
    if (this.#headRead === FRAME_HEADER_BYTES) {
      this.#headRead = 0;
      this.#body = bodyAfter(this.#head);
    }
    return taken;
  }

  #readBody(body: Body, bytes: Uint8Array): { readonly taken: number; readonly frame: SpdyFrame | undefined } {
    if (body.kind === 'data') {
      const payload = bytes.subarray(0, body.left);
      body.left -= payload.length;
      const { streamId, fin, left } = body;
      return { taken: payload.length, frame: { kind: 'data', streamId, payload, fin: fin && left === 0 } };
    }
    const part = bytes.subarray(0, body.payload.length - body.read);
    body.payload.set(part, body.read);
    body.read += part.length;
    return { taken: part.length, frame: isComplete(body) ? decodeControlFrame(body, this.#headers) : undefined };
  }
}

function isComplete(body: Body | undefined): boolean {
  if (body === undefined) return false;
  return body.kind === 'data' ? body.left === 0 : body.read === body.payload.length;
}

function bodyAfter(head: DataView): Body {
  const flags = head.getUint8(4);
  const length = head.getUint32(4) & 0xff_ffff;
  if ((head.getUint8(0) & 0x80) === 0) {
    const streamId = head.getUint32(0) & MAX_STREAM_ID;
    if (streamId === 0) throw new SpdyProtocolError('data has stream id 0');
    return { kind: 'data', streamId, fin: (flags & FLAG.fin) !== 0, left: length };
  }
  const version = head.getUint16(0) & 0x7fff;
  if (version !== SPDY_VERSION) throw new SpdyProtocolError(`a frame is of version ${version}`);
  if (length > MAX_CONTROL_BYTES) throw new SpdyProtocolError(`a control frame has ${length} bytes`);
  return { kind: 'control', type: head.getUint16(2), flags, payload: new Uint8Array(length), read: 0 };
}
