import type { FileSystem, FileSystemUsage } from '../../host/file-system.ts';

/** What comes in would fill the disk. */
export class SpaceError extends Error {
  override readonly name = 'SpaceError';
}

/** So much may come between two looks at the disk, but no more than a share of what is free: others look, too. */
const LOOK_SHARE = 1 / 4;
const LOOK_BYTES = 32 * 1024 * 1024;
const LOOK_INODES = 4096;
const RESERVE_BYTES = 2 ** 30;
const RESERVE_SHARE = 0.02;

/**
 * Lets images come in as long as they leave something free: a hundredth of the inodes, a fiftieth of the bytes but no more
 * than a gibibyte. That is the only limit on what an image may unpack to: there is none that suits every image (a disk image of
 * zeros is as honest as it is small), and what harms others is a full disk, however it came about.
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

  /** Before so much is written; answers a promise when it has to look. Rejects with a `SpaceError`. */
  take(bytes: number, inodes: number): Promise<void> | undefined {
    this.#bytes -= bytes;
    this.#inodes -= inodes;
    return this.#bytes < 0 || this.#inodes < 0 ? this.#look(bytes, inodes) : undefined;
  }

  async #look(bytes: number, inodes: number): Promise<void> {
    const usage = await this.#fs.usage(this.#folder);
    const free = freeIn(usage);
    if (free.bytes < bytes) throw new SpaceError(`no space left on device: ${this.#shown(usage)}`);
    if (free.inodes < inodes) throw new SpaceError(`no space left on device: no more files fit into ${this.#folder}`);
    this.#bytes = Math.min((free.bytes - bytes) * LOOK_SHARE, LOOK_BYTES);
    this.#inodes = Math.min((free.inodes - inodes) * LOOK_SHARE, LOOK_INODES);
  }

  /** For what is written as it comes. */
  async *passing(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      const hasRoom = this.take(chunk.byteLength, 0);
      if (hasRoom !== undefined) await hasRoom;
      yield chunk;
    }
  }

  #shown(usage: FileSystemUsage): string {
    const mebibytes = (bytes: number) => `${Math.floor(bytes / 2 ** 20)} MiB`;
    const [available, reserve] = [mebibytes(usage.availableBytes), mebibytes(reserveOf(usage))];
    return `${this.#folder} has ${available}, of which ${reserve} stay free`;
  }
}

function freeIn(usage: FileSystemUsage): { readonly bytes: number; readonly inodes: number } {
  return {
    bytes: usage.availableBytes - reserveOf(usage),
    // Some file systems make inodes as they need them, and tell of none.
    inodes: usage.inodes === 0 ? Number.POSITIVE_INFINITY : usage.inodesFree - usage.inodes / 100,
  };
}

function reserveOf({ capacityBytes }: FileSystemUsage): number {
  return Math.min(RESERVE_BYTES, capacityBytes * RESERVE_SHARE);
}
