import { closeSync, constants, fstatSync, openSync, read as readAt, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { bytesOfFileName } from '../../file-name.ts';
import { FileSystemError } from '../../file-system.ts';
import type { FileExtent, TreeFiles } from '../../tree.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { openInRoot } from '../sys/file-calls.ts';
import { syncWhileFast } from './sync-while-fast.ts';

const O_PATH = 0o10000000;
const CHUNK_BYTES = 256 * 1024;
const readInto = promisify(readAt);

export class LinuxTreeFiles implements TreeFiles {
  readonly #rootPath: string;
  readonly #root: number;

  constructor(root: string) {
    this.#rootPath = root;
    this.#root = openSync(root, O_PATH | constants.O_DIRECTORY);
  }

  async *read(path: string, extent: FileExtent, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    const fd = await this.#attempt(path, async () => this.#open(path));
    try {
      for (let done = 0; done < extent.length; ) {
        signal.throwIfAborted();
        const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, extent.length - done));
        const bytesRead = await this.#attempt(path, () => readAtOffset(fd, buffer, extent.offset + done));
        if (bytesRead === 0) return;
        done += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      closeSync(fd);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#root);
  }

  /** Checks the kind before opening: opening a device may have effects (a watchdog starts), and opening a FIFO blocks. */
  #open(path: string): number {
    const handle = openInRoot(this.#root, bytesOfFileName(path), O_PATH);
    try {
      const stats = fstatSync(handle);
      if (stats.isDirectory()) throw new FileSystemError('EISDIR', 'open', `${this.#rootPath}/${path}`);
      if (!stats.isFile()) throw new FileSystemError('ENXIO', 'open', `${this.#rootPath}/${path}`);
      return openSync(`/proc/self/fd/${handle}`, constants.O_RDONLY);
    } finally {
      closeSync(handle);
    }
  }

  async #attempt<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof FileSystemError) throw error;
      const code = errnoCode(error) ?? 'EIO';
      throw new FileSystemError(code, 'read', `${this.#rootPath}/${path}`, { cause: error });
    }
  }
}

function readAtOffset(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  const length = buffer.byteLength;
  return syncWhileFast(
    () => readSync(fd, buffer, 0, length, position),
    async () => (await readInto(fd, buffer, 0, length, position)).bytesRead,
  );
}
