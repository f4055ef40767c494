import { ByteReader, UnexpectedEofError } from '../../runtime/images/archive/byte-reader.ts';
import { decodeError, type EncodedError, encodeError } from './encoded-error.ts';

/** A header is the kind of the frame and its length in four bytes. */
const KINDS = { piece: 0x70, end: 0x65, error: 0x72 } as const;
const HEADER_BYTES = 5;
const MAX_ERROR_BYTES = 1024 * 1024;

/**
 * Encodes an archive for another process: pieces, followed by an end frame or an error frame. A truncated stream has
 * neither, so that it is never read as complete.
 */
export async function* encodeFrames(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const piece of archive) {
      yield header('piece', piece.byteLength);
      yield piece;
    }
  } catch (error) {
    const text = new TextEncoder().encode(JSON.stringify(encodeError(error)));
    yield header('error', text.byteLength);
    yield text;
    return;
  }
  yield header('end', 0);
}

/** Decodes it. Throws the encoded error, a `UnexpectedEofError` if there is no end frame, or the error of `body`. */
export async function* decodeFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const reader = new ByteReader(body);
  try {
    for (;;) {
      const head = await reader.readExactly(HEADER_BYTES);
      if (head === undefined) throw new UnexpectedEofError('the archive has no end');
      const length = new DataView(head.buffer, head.byteOffset).getUint32(1);
      if (head[0] === KINDS.end) return;
      if (head[0] === KINDS.error) throw decodeError(await readErrorFrame(reader, length));
      if (head[0] !== KINDS.piece) throw new UnexpectedEofError('the archive is not one of this version');
      yield* readPiece(reader, length);
    }
  } finally {
    await reader.close();
  }
}

function header(kind: keyof typeof KINDS, length: number): Uint8Array {
  const head = new Uint8Array(HEADER_BYTES);
  head[0] = KINDS[kind];
  new DataView(head.buffer).setUint32(1, length);
  return head;
}

async function* readPiece(reader: ByteReader, length: number): AsyncGenerator<Uint8Array, void, void> {
  for (let left = length; left > 0; ) {
    const some = await reader.read(left);
    if (some === undefined)
      throw new UnexpectedEofError(`the archive broke off, ${left} bytes before the end of a piece`);
    left -= some.byteLength;
    yield some;
  }
}

async function readErrorFrame(reader: ByteReader, length: number): Promise<EncodedError> {
  const text = await reader.readExactly(Math.min(length, MAX_ERROR_BYTES));
  return JSON.parse(new TextDecoder().decode(text)) as EncodedError; // written by `encodeFrames` of the same version
}
