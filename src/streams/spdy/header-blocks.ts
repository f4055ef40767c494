import { constants, inflateRawSync } from 'node:zlib';
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID } from './header-dictionary.ts';
import { SpdyProtocolError } from './spdy-frames.ts';
import type { SpdyHeaders } from './spdy-session.ts';

/** What a block may grow to when it is unpacked. Those of Kubernetes have some 60 bytes. */
const MOST_HEADER_BYTES = 8 * 1024;
const MOST_NAMES = 32;
/** Of a name, and of all its values together. */
const MOST_WORD_BYTES = 1024;
const MOST_VALUES = 16;

/** How far deflate looks back. */
const WINDOW_BYTES = 32 * 1024;

/** With this both sides leave the compression at the end of a block: an empty part of its own (`Z_SYNC_FLUSH`). */
const FLUSHED = Uint8Array.of(0, 0, 0, 0xff, 0xff);

/** The header of a zlib stream that begins with a dictionary; then comes the dictionary's id. */
const ZLIB_HEAD = Uint8Array.of(0x78, 0xbb);
const HAS_DICTIONARY = 0x20;

/**
 * Unpacks the header blocks of one direction of a connection, in the order in which they were sent.
 *
 * All blocks together are one zlib stream. As each of them ends flushed, it can be unpacked by itself with what came before it
 * as its dictionary: this needs no stream, which would be asynchronous, and the size has a limit.
 */
export class HeaderReader {
  #window: Uint8Array | undefined;

  /** Throws `SpdyProtocolError`. */
  read(block: Uint8Array): SpdyHeaders {
    let deflated = block;
    if (this.#window === undefined) ({ window: this.#window, rest: deflated } = readZlibHead(block));
    const text = inflate(deflated, this.#window);
    this.#window = Buffer.concat([this.#window, text]).subarray(-WINDOW_BYTES);
    return parseHeaders(text);
  }
}

function readZlibHead(block: Uint8Array): { readonly window: Uint8Array; readonly rest: Uint8Array } {
  const view = viewOf(block);
  if (block.length < 2 || (view.getUint8(0) & 0x0f) !== 8 || view.getUint16(0) % 31 !== 0) {
    throw new SpdyProtocolError('headers are not compressed with zlib');
  }
  if ((view.getUint8(1) & HAS_DICTIONARY) === 0) return { window: new Uint8Array(), rest: block.subarray(2) };
  if (block.length < 6 || view.getUint32(2) !== HEADER_DICTIONARY_ID) {
    throw new SpdyProtocolError('headers are compressed with another dictionary than that of SPDY/3');
  }
  return { window: HEADER_DICTIONARY, rest: block.subarray(6) };
}

function inflate(deflated: Uint8Array, window: Uint8Array): Buffer {
  const end = deflated.subarray(-4);
  if (Buffer.compare(end, FLUSHED.subarray(1)) !== 0)
    throw new SpdyProtocolError('a header block does not end flushed');
  try {
    return inflateRawSync(deflated, {
      ...(window.length > 0 && { dictionary: window }),
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: MOST_HEADER_BYTES,
    });
  } catch (error) {
    throw new SpdyProtocolError('headers cannot be unpacked', { cause: error });
  }
}

/** The number of names, then each name and its values, all with their lengths before them. */
function parseHeaders(text: Buffer): SpdyHeaders {
  const headers = new Map<string, readonly string[]>();
  let at = 0;
  const number = (): number => {
    if (at + 4 > text.length) throw new SpdyProtocolError('a header block is cut off');
    at += 4;
    return text.readUInt32BE(at - 4);
  };
  const words = (): string => {
    const length = number();
    if (length > MOST_WORD_BYTES) throw new SpdyProtocolError(`a header has ${length} bytes`);
    if (at + length > text.length) throw new SpdyProtocolError('a header block is cut off');
    at += length;
    return text.toString('utf8', at - length, at);
  };
  const names = number();
  if (names > MOST_NAMES) throw new SpdyProtocolError(`a header block has ${names} names`);
  for (let left = names; left > 0; left--) {
    const name = words().toLowerCase();
    if (headers.has(name)) throw new SpdyProtocolError(`header ${name} is there twice`);
    const values = words().split('\0', MOST_VALUES + 1);
    if (values.length > MOST_VALUES) throw new SpdyProtocolError(`header ${name} has too many values`);
    headers.set(name, values);
  }
  return Object.fromEntries(headers);
}

/**
 * Packs the header blocks of the other direction, as parts of a zlib stream that are stored and not compressed: 60 bytes are
 * not worth the work, and the peer sees no difference.
 */
export class HeaderWriter {
  #begun = false;

  write(headers: SpdyHeaders): Uint8Array {
    const text = encodeHeaders(headers);
    if (text.length > MOST_HEADER_BYTES - 1) throw new RangeError('headers are too long for one block');
    const stored = Buffer.alloc(5); // kind of the part, its length, and that inverted, little-endian
    stored.writeUInt16LE(text.length, 1);
    stored.writeUInt16LE(text.length ^ 0xffff, 3);
    const parts = this.#begun
      ? [stored, text, FLUSHED]
      : [ZLIB_HEAD, uint32(HEADER_DICTIONARY_ID), stored, text, FLUSHED];
    this.#begun = true;
    return Buffer.concat(parts);
  }
}

function encodeHeaders(headers: SpdyHeaders): Uint8Array {
  const entries = Object.entries(headers);
  const counted = (text: string): Uint8Array[] => [uint32(Buffer.byteLength(text)), Buffer.from(text)];
  const words = entries.flatMap(([name, values]) => [...counted(name), ...counted(values.join('\0'))]);
  return Buffer.concat([uint32(entries.length), ...words]);
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  viewOf(bytes).setUint32(0, value);
  return bytes;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
