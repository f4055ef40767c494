import { pipeline, type Transform } from 'node:stream';
// As a whole: a name that an older Node.js has not would keep it from telling what it needs (src/main.ts).
import zlib from 'node:zlib';
import { ByteReader } from './byte-reader.ts';

const CHUNK_BYTES = 128 * 1024;
const MAGIC_BYTES = 4;
/** Nothing piles up before it: what waits in memory is collected late. */
const SETTINGS = { chunkSize: CHUNK_BYTES, writableHighWaterMark: 1 };

export type Compression = 'gzip' | 'zstd' | 'none';

/** By what it begins with: media types are often wrong. */
export function compressionOf(beginning: Uint8Array): Compression {
  const [a, b, c, d] = beginning;
  if (a === 0x1f && b === 0x8b) return 'gzip';
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) return 'zstd';
  // What has no content for a reader may stand before it: a skippable frame, as zstd:chunked begins with.
  if (a !== undefined && (a & 0xf0) === 0x50 && b === 0x2a && c === 0x4d && d === 0x18) return 'zstd';
  return 'none';
}

/** The bytes themselves, whether the source is compressed or not. Fails when the source does, or is damaged. */
export async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const bytes = new ByteReader(source);
  const beginning = await atMost(bytes, MAGIC_BYTES);
  const whole = joined(beginning, bytes);
  const compression = compressionOf(beginning);
  if (compression === 'none') {
    yield* whole;
    return;
  }
  const inflate: Transform = compression === 'gzip' ? zlib.createGunzip(SETTINGS) : zlib.createZstdDecompress(SETTINGS);
  pipeline(whole, inflate, () => {}); // a failure destroys `inflate`, and is thrown below
  yield* inflate;
}

async function atMost(bytes: ByteReader, length: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let left = length; left > 0; ) {
    const some = await bytes.some(left);
    if (some === undefined) break;
    parts.push(some);
    left -= some.byteLength;
  }
  return new Uint8Array(Buffer.concat(parts));
}

async function* joined(beginning: Uint8Array, rest: ByteReader): AsyncGenerator<Uint8Array, void, void> {
  try {
    if (beginning.byteLength > 0) yield beginning;
    for (let some = await rest.some(CHUNK_BYTES); some; some = await rest.some(CHUNK_BYTES)) yield some;
  } finally {
    await rest.close();
  }
}
