import { pipeline, type Transform } from 'node:stream';
// A default import: a named import that an older Node.js does not have would fail before src/main.ts reports the
// required version.
import zlib from 'node:zlib';
import { ByteReader } from './byte-reader.ts';

const CHUNK_BYTES = 128 * 1024;
const MAGIC_BYTES = 4;
/** Disables buffering in front of the decompressor: buffered chunks are garbage-collected late. */
const SETTINGS = { chunkSize: CHUNK_BYTES, writableHighWaterMark: 1 };

export type Compression = 'gzip' | 'zstd' | 'none';

/** Detects the compression from the magic bytes: media types are often wrong. */
export function detectCompression(beginning: Uint8Array): Compression {
  const [a, b, c, d] = beginning;
  if (a === 0x1f && b === 0x8b) return 'gzip';
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) return 'zstd';
  // A skippable frame may come first, as in zstd:chunked.
  if (a !== undefined && (a & 0xf0) === 0x50 && b === 0x2a && c === 0x4d && d === 0x18) return 'zstd';
  return 'none';
}

/** Returns the decompressed bytes of a source that may be compressed. Fails if the source fails or is damaged. */
export async function* decompress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const bytes = new ByteReader(source);
  const beginning = await atMost(bytes, MAGIC_BYTES);
  const whole = joined(beginning, bytes);
  const compression = detectCompression(beginning);
  if (compression === 'none') {
    yield* whole;
    return;
  }
  const inflate: Transform = compression === 'gzip' ? zlib.createGunzip(SETTINGS) : zlib.createZstdDecompress(SETTINGS);
  pipeline(whole, inflate, () => {}); // a failure destroys `inflate` and is thrown below
  yield* inflate;
}

async function atMost(bytes: ByteReader, length: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let left = length; left > 0; ) {
    const some = await bytes.read(left);
    if (some === undefined) break;
    parts.push(some);
    left -= some.byteLength;
  }
  return new Uint8Array(Buffer.concat(parts));
}

async function* joined(beginning: Uint8Array, rest: ByteReader): AsyncGenerator<Uint8Array, void, void> {
  try {
    if (beginning.byteLength > 0) yield beginning;
    for (let some = await rest.read(CHUNK_BYTES); some; some = await rest.read(CHUNK_BYTES)) yield some;
  } finally {
    await rest.close();
  }
}
