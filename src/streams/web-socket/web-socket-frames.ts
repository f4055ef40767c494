/** Frames of RFC 6455, as a server receives and sends them. Extensions are not supported. */

/** What a client has sent. */
export type WebSocketFrame =
  /** A whole message; its parts are joined. */
  | { readonly kind: 'message'; readonly data: Uint8Array }
  | { readonly kind: 'ping'; readonly data: Uint8Array }
  | { readonly kind: 'pong' }
  | { readonly kind: 'close' };

/** The status code is sent to the client. */
export class WebSocketProtocolError extends Error {
  override readonly name = 'WebSocketProtocolError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const CLOSE_STATUS = { normal: 1000, protocolError: 1002, tooBig: 1009 } as const;

const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** As in other container runtimes. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const MAX_CONTROL_BYTES = 125;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const MAX_LENGTH_16 = 0xffff;
const MASK_BYTES = 4;
const MAX_HEAD_BYTES = 2 + 8 + MASK_BYTES;
/** The memory that a part takes beside its bytes: a client may send empty parts. */
const BYTES_PER_PART = 256;

/** The frame whose payload is being read. */
interface Head {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly length: number;
  readonly mask: Uint8Array;
}

/**
 * Decodes frames of a client from bytes that are split anywhere.
 * 1. What is buffered was received: a length alone reserves nothing.
 * 2. A message has at most `MAX_MESSAGE_BYTES`.
 */
export class WebSocketDecoder {
  /** Received bytes that are not decoded yet: less than a head, or parts of the payload. */
  #head = new Uint8Array(0);
  #frame: Head | undefined;
  #payload: Uint8Array[] = [];
  #payloadBytes = 0;
  /** Frames of the message that is not complete. */
  #parts: Uint8Array[] | undefined;
  #partBytes = 0;

  /** Throws a `WebSocketProtocolError`; the decoder cannot be used afterwards. */
  *frames(chunk: Uint8Array): Generator<WebSocketFrame, void, void> {
    let rest = chunk;
    while (rest.length > 0 || this.#isPayloadComplete) {
      if (!this.#frame) {
        rest = this.#readHead(rest);
        continue;
      }
      rest = this.#readPayload(this.#frame, rest);
      if (!this.#isPayloadComplete) return;
      const frame = this.#take(this.#frame);
      if (frame) yield frame;
    }
  }

  get #isPayloadComplete(): boolean {
    return this.#frame !== undefined && this.#payloadBytes === this.#frame.length;
  }

  /** Returns what follows the head. */
  #readHead(bytes: Uint8Array): Uint8Array {
    const known = this.#head.length;
    const all = concat([this.#head, bytes.subarray(0, MAX_HEAD_BYTES - known)]);
    const size = headSize(all);
    if (size === undefined || all.length < size) {
      this.#head = all;
      return bytes.subarray(all.length - known);
    }
    this.#head = new Uint8Array(0);
    this.#frame = this.#checked(parseHead(all, size));
    return bytes.subarray(size - known);
  }

  #checked(head: Head): Head {
    const { opcode, isFinal, length } = head;
    if (opcode >= OPCODE.close) {
      if (!isFinal || length > MAX_CONTROL_BYTES) throw broken('a control frame is too long, or has parts');
    } else if ((opcode === OPCODE.continuation) !== (this.#parts !== undefined)) {
      throw broken('a part of a message is out of order');
    } else if (this.#partBytes + length > MAX_MESSAGE_BYTES) {
      throw new WebSocketProtocolError(CLOSE_STATUS.tooBig, `a message has more than ${MAX_MESSAGE_BYTES} bytes`);
    }
    return head;
  }

  /** Returns what follows the payload. The bytes are copied: a chunk is valid only until the next one. */
  #readPayload({ length, mask }: Head, bytes: Uint8Array): Uint8Array {
    const taken = Math.min(length - this.#payloadBytes, bytes.length);
    if (taken > 0) this.#payload.push(unmasked(bytes.subarray(0, taken), mask, this.#payloadBytes));
    this.#payloadBytes += taken;
    return bytes.subarray(taken);
  }

  /** `undefined` for a part of a message that is not the last. */
  #take({ opcode, isFinal }: Head): WebSocketFrame | undefined {
    const data = concat(this.#payload);
    this.#frame = undefined;
    this.#payload = [];
    this.#payloadBytes = 0;
    if (opcode === OPCODE.close) return { kind: 'close' };
    if (opcode === OPCODE.pong) return { kind: 'pong' };
    if (opcode === OPCODE.ping) return { kind: 'ping', data };
    if (isFinal && !this.#parts) return { kind: 'message', data };
    this.#parts ??= [];
    this.#parts.push(data);
    this.#partBytes += data.length + BYTES_PER_PART;
    if (!isFinal) return undefined;
    const whole = concat(this.#parts);
    this.#parts = undefined;
    this.#partBytes = 0;
    return { kind: 'message', data: whole };
  }
}

/** The number of bytes of a head with its mask; `undefined` if its first two bytes have not arrived. */
function headSize(bytes: Uint8Array): number | undefined {
  const second = bytes[1];
  if (second === undefined) return undefined;
  const short = second & 0x7f;
  const lengthBytes = short === LENGTH_64 ? 8 : short === LENGTH_16 ? 2 : 0;
  return 2 + lengthBytes + MASK_BYTES;
}

function parseHead(bytes: Uint8Array, size: number): Head {
  const view = new DataView(bytes.buffer, bytes.byteOffset, size);
  const [first, second] = [view.getUint8(0), view.getUint8(1)];
  const opcode = first & 0x0f;
  if ((first & 0x70) !== 0) throw broken('a frame uses an extension');
  if (!Object.values<number>(OPCODE).includes(opcode)) throw broken(`a frame has the unknown opcode ${opcode}`);
  if ((second & 0x80) === 0) throw broken('a frame of the client is not masked');
  const short = second & 0x7f;
  const length = short === LENGTH_64 ? Number(view.getBigUint64(2)) : short === LENGTH_16 ? view.getUint16(2) : short;
  const mask = new Uint8Array(bytes.subarray(size - MASK_BYTES, size));
  return { opcode, isFinal: (first & 0x80) !== 0, length, mask };
}

function broken(message: string): WebSocketProtocolError {
  return new WebSocketProtocolError(CLOSE_STATUS.protocolError, message);
}

/** `offset` is the position of the bytes in their payload. */
function unmasked(bytes: Uint8Array, mask: Uint8Array, offset: number): Uint8Array {
  const data = new Uint8Array(bytes);
  for (let at = 0; at < data.length; at++) data[at] = (data[at] ?? 0) ^ (mask[(offset + at) & 3] ?? 0);
  return data;
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Strings are text messages. */
export function encodeMessage(message: Uint8Array | string): Uint8Array {
  const isText = typeof message === 'string';
  return encodeFrame(isText ? OPCODE.text : OPCODE.binary, isText ? Buffer.from(message) : message);
}

export function encodePong(data: Uint8Array): Uint8Array {
  return encodeFrame(OPCODE.pong, data);
}

export function encodeClose(status: number): Uint8Array {
  return encodeFrame(OPCODE.close, Uint8Array.of(status >> 8, status & 0xff));
}

/** A server does not mask. */
function encodeFrame(opcode: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const lengthBytes = length > MAX_LENGTH_16 ? 8 : length > MAX_CONTROL_BYTES ? 2 : 0;
  const frame = new Uint8Array(2 + lengthBytes + length);
  const view = new DataView(frame.buffer);
  view.setUint8(0, 0x80 | opcode);
  view.setUint8(1, lengthBytes === 8 ? LENGTH_64 : lengthBytes === 2 ? LENGTH_16 : length);
  if (lengthBytes === 8) view.setBigUint64(2, BigInt(length));
  if (lengthBytes === 2) view.setUint16(2, length);
  frame.set(payload, 2 + lengthBytes);
  return frame;
}
