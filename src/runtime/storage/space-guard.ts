import type { FileSystem, FileSystemUsage } from '../../host/file-system.ts';

/** The incoming data would fill the disk. */
export class SpaceError extends Error {
  override readonly name = 'SpaceError';
}

/** The amount between two checks of the disk, at most a share of the free space: others check too. */
const CHECK_SHARE = 1 / 4;
const CHECK_BYTES = 32 * 1024 * 1024;
const CHECK_INODES = 4096;
const RESERVE_BYTES = 2 ** 30;
const RESERVE_SHARE = 0.02;

/**
 * Limits incoming images so that 1% of the inodes and 2% of the bytes (at most 1 GiB) stay free. This is the only limit
 * on the unpacked size of an image: no fixed limit suits every image (a disk image of zeros is small when compressed),
 * and only a full disk harms others.
 */
export class SpaceGuard {
  readonly #fs: Pick<FileSystem, 'usage'>;
  readonly #folder: string;
  #bytes = 0;
  #inodes = 0;

  constructor(fs: Pick<FileSystem, 'usage'>, folder: string) {
    this.#fs = fs;
    this.#folder = folder;
  }

  /** To be called before writing; returns a promise if the disk must be checked. Rejects with `SpaceError`. */
  reserve(bytes: number, inodes: number): Promise<void> | undefined {
    this.#bytes -= bytes;
    this.#inodes -= inodes;
    return this.#bytes < 0 || this.#inodes < 0 ? this.#check(bytes, inodes) : undefined;
  }

  async #check(bytes: number, inodes: number): Promise<void> {
    const usage = await this.#fs.usage(this.#folder);
    const free = freeSpace(usage);
    if (free.bytes < bytes) throw new SpaceError(`no space left on device: ${this.#describe(usage)}`);
    if (free.inodes < inodes) throw new SpaceError(`no space left on device: no more files fit into ${this.#folder}`);
    this.#bytes = Math.min((free.bytes - bytes) * CHECK_SHARE, CHECK_BYTES);
    this.#inodes = Math.min((free.inodes - inodes) * CHECK_SHARE, CHECK_INODES);
  }

  /** Accounts for a stream that is written as it arrives. */
  async *tee(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      const hasRoom = this.reserve(chunk.byteLength, 0);
      if (hasRoom !== undefined) await hasRoom;
      yield chunk;
    }
  }

  #describe(usage: FileSystemUsage): string {
    const mebibytes = (bytes: number) => `${Math.floor(bytes / 2 ** 20)} MiB`;
    const [available, reserve] = [mebibytes(usage.availableBytes), mebibytes(reservedBytes(usage))];
    return `${this.#folder} has ${available}, of which ${reserve} stay free`;
  }
}

function freeSpace(usage: FileSystemUsage): { readonly bytes: number; readonly inodes: number } {
  return {
    bytes: usage.availableBytes - reservedBytes(usage),
    // Some file systems allocate inodes on demand and report none.
    inodes: usage.inodes === 0 ? Number.POSITIVE_INFINITY : usage.inodesFree - usage.inodes / 100,
  };
}

function reservedBytes({ capacityBytes }: FileSystemUsage): number {
  return Math.min(RESERVE_BYTES, capacityBytes * RESERVE_SHARE);
}
