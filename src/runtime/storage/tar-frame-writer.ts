import { promisify } from 'node:util';
// As a whole: a name that an older Node.js has not would keep it from telling what it needs (src/main.ts).
import zlib from 'node:zlib';
import { bytesOfFileName } from '../../host/file-name.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { FileExtent } from '../../host/tree.ts';
import type { TarMember } from '../images/archive/read-tar.ts';
import { CONTENT_HEADER_BYTES, NUMBER_BYTES, RAW_HEADER_BYTES, RECORD } from './tar-frame-format.ts';

/** Collected before it is compressed and written. */
const BLOCK_BYTES = 256 * 1024;
/** The quickest: headers repeat themselves, and nearly nothing is left of them. */
const LEVEL = 1;

/**
 * Keeps of an archive that passes by what is not content of its files: headers, padding, the end. Together with the files it
 * is the archive again, byte for byte (`rebuiltTar`). What a file holds is told by its path and never kept.
 */
export class TarFrameWriter {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #filled = 0;
  /** What has passed by, up to `#passed`, and of which it is not known yet whether it is content. */
  #waiting: Uint8Array[] = [];
  #passed = 0;
  /** The content of a member that is known: it goes by, or into the frame, up to here. */
  #knownUntil = 0;
  #knownIs: 'content' | 'frame' = 'frame';
  #written: Promise<void> = Promise.resolve();

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs;
    this.#path = path;
  }

  async *passing(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      const flushed = this.#pass(chunk);
      if (flushed !== undefined) await flushed;
      yield chunk;
    }
  }

  /**
   * A member, before its content is read. With `path`, its content is a file there; without, it is nowhere but in the archive.
   * Answers a promise when there is something to wait for.
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

  /** The last member has passed: all that comes now belongs to the frame, and does not wait in memory for another. */
  endMembers(): Promise<void> | undefined {
    this.#knownUntil = Number.POSITIVE_INFINITY;
    this.#knownIs = 'frame';
    return this.#reconsider();
  }

  /** Everything has passed. Answers how long the archive is. */
  async finish(): Promise<number> {
    await this.#settle(this.#passed);
    await this.#flush();
    await this.#written;
    return this.#passed;
  }

  /** Nobody wants it any more. Nothing is written once it resolves. */
  async abandon(): Promise<void> {
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

  /** All that waits before `offset` belongs to the frame. */
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

  /** Of what waits some is known now. */
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

  /** Resolves when those before are written: there are never more than two blocks in memory. */
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
    this.#written.catch(() => {}); // whoever waits for the next block, or for the end, is told
    return before;
  }
}

/** One at least: a member without content has its turn among those of the same path. */
function extentsOf({ size, extents }: Extract<TarMember['node'], { kind: 'file' }>): readonly FileExtent[] {
  if (extents === undefined) return [{ offset: 0, length: size }];
  return extents.length > 0 ? extents : [{ offset: 0, length: 0 }];
}
