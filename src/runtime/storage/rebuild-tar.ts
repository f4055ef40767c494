import { fileNameOf } from '../../host/file-name.ts';
import type { FileExtent } from '../../host/tree.ts';
import { ByteReader, UnexpectedEofError } from '../images/archive/byte-reader.ts';
import { decompress } from '../images/archive/decompress.ts';
import { CONTENT_HEADER_BYTES, NUMBER_BYTES, RAW_HEADER_BYTES, RECORD } from './tar-frame-format.ts';

/** Returns the content of a member by path, called in the order of the archive when the member begins. */
export type ContentSource = (path: string) => (extent: FileExtent) => AsyncIterable<Uint8Array>;

/** Rebuilds the archive that a `TarFrameWriter` recorded. Throws `UnexpectedEofError` if a file became shorter. */
export async function* rebuildTar(
  frame: AsyncIterable<Uint8Array>,
  contentOf: ContentSource,
): AsyncGenerator<Uint8Array, void, void> {
  const records = new ByteReader(decompress(frame));
  try {
    let file: { readonly path: string; readonly read: ReturnType<ContentSource> } | undefined;
    for (let kind = await records.readExactly(1); kind; kind = await records.readExactly(1)) {
      if (kind[0] === RECORD.raw) {
        yield* raw(records);
        continue;
      }
      const { path, extent } = await content(records);
      if (kind[0] === RECORD.content || file === undefined) file = { path, read: contentOf(path) };
      yield* exactly(file.read(extent), extent.length, file.path);
    }
  } finally {
    await records.close();
  }
}

async function* raw(records: ByteReader): AsyncGenerator<Uint8Array, void, void> {
  const header = await readRequired(records, RAW_HEADER_BYTES - 1);
  for (let left = header.readUInt32BE(0); left > 0; ) {
    const some = await records.read(left);
    if (some === undefined) throw new UnexpectedEofError('unexpected end of the frame');
    left -= some.byteLength;
    yield some;
  }
}

async function content(records: ByteReader): Promise<{ readonly path: string; readonly extent: FileExtent }> {
  const header = await readRequired(records, CONTENT_HEADER_BYTES - 1);
  const offset = header.readUIntBE(0, NUMBER_BYTES);
  const length = header.readUIntBE(NUMBER_BYTES, NUMBER_BYTES);
  const name = await readRequired(records, header.readUInt16BE(2 * NUMBER_BYTES));
  return { path: fileNameOf(name), extent: { offset, length } };
}

async function readRequired(records: ByteReader, length: number): Promise<Buffer> {
  const found = await records.readExactly(length);
  if (found === undefined) throw new UnexpectedEofError('unexpected end of the frame');
  return Buffer.from(found.buffer, found.byteOffset, found.byteLength);
}

async function* exactly(source: AsyncIterable<Uint8Array>, length: number, path: string) {
  let left = length;
  if (left === 0) return;
  for await (const chunk of source) {
    left -= chunk.byteLength;
    yield chunk;
  }
  if (left !== 0) throw new UnexpectedEofError(`${path}: file became shorter`);
}
