import { promisify } from 'node:util';
// A default import: a named import that an older Node.js does not have would fail before src/main.ts reports the
// required version.
import zlib from 'node:zlib';
import { bytesOfFileName } from '../../host/file-name.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { FileExtent } from '../../host/tree.ts';
import type { TarMember } from '../images/archive/read-tar.ts';
import { CONTENT_HEADER_BYTES, NUMBER_BYTES, RAW_HEADER_BYTES, RECORD } from './tar-frame-format.ts';

/** Collected before it is compressed and written. */
const BLOCK_BYTES = 256 * 1024;
/** The fastest level: headers are repetitive and compress to almost nothing. */
const LEVEL = 1;

/**
 * Records the parts of an archive that are not contents of files: headers, padding, the end. Together with the files
 * they give the archive again, byte for byte (`rebuildTar`), like tar-split. Contents are referenced by path and never
 * stored.
 */
export class TarFrameWriter {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #filled = 0;
  /** Bytes before `#passed` that are not yet known to be content or frame. */
  #waiting: Uint8Array[] = [];
  #passed = 0;
  /** Bytes up to this offset are known to be content or frame. */
  #knownUntil = 0;
  #knownIs: 'content' | 'frame' = 'frame';
  #written: Promise<void> = Promise.resolve();

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs;
    this.#path = path;
  }

  async *tee(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      const flushed = this.#pass(chunk);
      if (flushed !== undefined) await flushed;
      yield chunk;
    }
  }

  /**
   * Registers a member before its content is read. With `path`, the content is in that file; without, it is only in the
   * archive. Returns a promise if the caller must wait.
   */
  member({ node, offset, stored }: TarMember, path: string | undefined): Promise<void> | undefined {
    let flushed = this.#settle(offset);
    const isFile = path !== undefined && node.kind === 'file';
    for (const [index, extent] of (isFile ? extentsOf(node) : []).entries()) {
      const isFirst = index === 0;
      const content = this.#content(isFirst ? RECORD.content : RECORD.moreContent, isFirst ? (path ?? '') : '', extent);
      flushed = content ?? flushed;
    }
    this.#knownUntil = offset + stored;
    this.#knownIs = isFile ? 'content' : 'frame';
    return (stored > 0 ? this.#reconsider() : undefined) ?? flushed;
  }

  /** The last member has passed: all later bytes belong to the frame and need not be buffered. */
  endMembers(): Promise<void> | undefined {
    this.#knownUntil = Number.POSITIVE_INFINITY;
    this.#knownIs = 'frame';
    return this.#reconsider();
  }

  /** To be called at the end. Returns the length of the archive. */
  async finish(): Promise<number> {
    await this.#settle(this.#passed);
    await this.#flush();
    await this.#written;
    return this.#passed;
  }

  /** Nothing is written any more once it resolves. */
  async close(): Promise<void> {
    await this.#written.catch(() => {});
  }

  #pass(chunk: Uint8Array): Promise<void> | undefined {
    const start = this.#passed;
    this.#passed += chunk.byteLength;
    const known = chunk.subarray(0, Math.max(0, this.#knownUntil - start));
    const rest = chunk.subarray(known.byteLength);
    const flushed = known.byteLength > 0 && this.#knownIs === 'frame' ? this.#raw(known) : undefined;
    if (rest.byteLength > 0) this.#waiting.push(rest);
    return flushed;
  }

  /** Writes the buffered bytes before `offset` to the frame. */
  #settle(offset: number): Promise<void> | undefined {
    let start = this.#passed - this.#waiting.reduce((sum, { byteLength }) => sum + byteLength, 0);
    let flushed: Promise<void> | undefined;
    while (start < offset) {
      const chunk = this.#waiting.shift();
      if (chunk === undefined) break;
      const part = chunk.subarray(0, offset - start);
      flushed = this.#raw(part) ?? flushed;
      start += part.byteLength;
      if (part.byteLength < chunk.byteLength) this.#waiting.unshift(chunk.subarray(part.byteLength));
    }
    return flushed;
  }

  /** Classifies the buffered bytes again. */
  #reconsider(): Promise<void> | undefined {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#passed -= waiting.reduce((sum, { byteLength }) => sum + byteLength, 0);
    let flushed: Promise<void> | undefined;
    for (const chunk of waiting) flushed = this.#pass(chunk) ?? flushed;
    return flushed;
  }

  #raw(bytes: Uint8Array): Promise<void> | undefined {
    let flushed: Promise<void> | undefined;
    for (let rest = bytes; rest.byteLength > 0; ) {
      if (this.#filled + RAW_HEADER_BYTES >= BLOCK_BYTES) flushed = this.#flush();
      const part = rest.subarray(0, BLOCK_BYTES - this.#filled - RAW_HEADER_BYTES);
      this.#filled = this.#block.writeUInt8(RECORD.raw, this.#filled);
      this.#filled = this.#block.writeUInt32BE(part.byteLength, this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.byteLength;
      rest = rest.subarray(part.byteLength);
    }
    return flushed;
  }

  #content(kind: number, path: string, { offset, length }: FileExtent): Promise<void> | undefined {
    const name = Buffer.from(bytesOfFileName(path));
    const isFull = this.#filled + CONTENT_HEADER_BYTES + name.byteLength > BLOCK_BYTES;
    const flushed = isFull ? this.#flush() : undefined;
    this.#filled = this.#block.writeUInt8(kind, this.#filled);
    this.#filled = this.#block.writeUIntBE(offset, this.#filled, NUMBER_BYTES);
    this.#filled = this.#block.writeUIntBE(length, this.#filled, NUMBER_BYTES);
    this.#filled = this.#block.writeUInt16BE(name.byteLength, this.#filled);
    this.#filled += name.copy(this.#block, this.#filled);
    return flushed;
  }

  /** Resolves when the previous blocks are written: at most two blocks are in memory. */
  #flush(): Promise<void> {
    const before = this.#written;
    const block = Buffer.from(this.#block.subarray(0, this.#filled));
    this.#filled = 0;
    this.#written = before.then(async () => {
      const compressed = await promisify(zlib.zstdCompress)(block, {
        params: { [zlib.constants.ZSTD_c_compressionLevel]: LEVEL },
      });
      await this.#fs.appendFile(this.#path, compressed);
    });
    this.#written.catch(() => {}); // reported to the caller that waits for the next block or for the end
    return before;
  }
}

/** At least one: a member without content still counts among those of the same path. */
function extentsOf({ size, extents }: Extract<TarMember['node'], { kind: 'file' }>): readonly FileExtent[] {
  if (extents === undefined) return [{ offset: 0, length: size }];
  return extents.length > 0 ? extents : [{ offset: 0, length: 0 }];
}
