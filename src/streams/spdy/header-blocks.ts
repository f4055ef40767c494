import { constants, inflateRawSync } from 'node:zlib';
import { SpdyProtocolError } from './spdy-frames.ts';
import type { SpdyHeaders } from './spdy-session.ts';

/**
 * The preset zlib dictionary of header blocks (SPDY draft 3.1, section 2.6.10.1): names and values prefixed with their
 * lengths, then plain text. Every connection carries its checksum, so it must match byte for byte.
 */
const COUNTED = [
  'options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|accept-ranges|age|allow',
  'authorization|cache-control|connection|content-base|content-encoding|content-language|content-length',
  'content-location|content-md5|content-range|content-type|date|etag|expect|expires|from|host|if-match',
  'if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|location|max-forwards|pragma',
  'proxy-authenticate|proxy-authorization|range|referer|retry-after|server|te|trailer|transfer-encoding|upgrade',
  'user-agent|vary|via|warning|www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie',
  'keep-alive|origin',
].flatMap((line) => line.split('|'));

const UNCOUNTED = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden',
  '404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable',
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT',
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,',
  'publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
];

export const HEADER_DICTIONARY: Uint8Array = Buffer.concat([
  ...COUNTED.map((word) => Buffer.from(`\0\0\0${String.fromCharCode(word.length)}${word}`)),
  Buffer.from(UNCOUNTED.join('')),
]);

/** Its Adler-32 checksum, which zlib identifies dictionaries by. */
export const HEADER_DICTIONARY_ID = 0xe3c6_a7c2;

/** The limit of an uncompressed block. Kubernetes' blocks have some 60 bytes. */
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_NAMES = 32;
/** The limit of a name, and of all its values together. */
const MAX_WORD_BYTES = 1024;
const MAX_VALUES = 16;

/** The window of deflate. */
const WINDOW_BYTES = 32 * 1024;

/** The empty stored block that ends each header block (`Z_SYNC_FLUSH`). */
const FLUSHED = Uint8Array.of(0, 0, 0, 0xff, 0xff);

/** The header of a zlib stream with a preset dictionary, followed by the dictionary's id. */
const ZLIB_HEAD = Uint8Array.of(0x78, 0xbb);
const HAS_DICTIONARY = 0x20;

/**
 * Decompresses the header blocks of one direction of a connection, in the order of sending.
 *
 * All blocks together are one zlib stream. Each ends flushed, so it can be inflated separately with the preceding data as
 * its dictionary: that is synchronous and has a size limit, which a zlib stream of Node.js has not.
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
    throw new SpdyProtocolError('headers are compressed with another dictionary, not that of SPDY/3');
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
      maxOutputLength: MAX_HEADER_BYTES,
    });
  } catch (error) {
    throw new SpdyProtocolError('headers cannot be inflated', { cause: error });
  }
}

/** The number of names, then each name and its values, each prefixed with its length. */
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
    if (length > MAX_WORD_BYTES) throw new SpdyProtocolError(`a header has ${length} bytes`);
    if (at + length > text.length) throw new SpdyProtocolError('a header block is cut off');
    at += length;
    return text.toString('utf8', at - length, at);
  };
  const names = number();
  if (names > MAX_NAMES) throw new SpdyProtocolError(`a header block has ${names} names`);
  for (let left = names; left > 0; left--) {
    const name = words().toLowerCase();
    if (headers.has(name)) throw new SpdyProtocolError(`header ${name} is duplicate`);
    const values = words().split('\0', MAX_VALUES + 1);
    if (values.length > MAX_VALUES) throw new SpdyProtocolError(`header ${name} has too many values`);
    headers.set(name, values);
  }
  return Object.fromEntries(headers);
}

/**
 * Writes the header blocks of the other direction as stored, uncompressed blocks of a zlib stream: compressing 60 bytes does
 * not pay.
 */
export class HeaderWriter {
  #begun = false;

  write(headers: SpdyHeaders): Uint8Array {
    const text = encodeHeaders(headers);
    if (text.length > MAX_HEADER_BYTES - 1) throw new RangeError('headers are too long for one block');
    const stored = Buffer.alloc(5); // block type, length, and inverted length, little-endian
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
