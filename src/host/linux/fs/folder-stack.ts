import { close, closeSync, constants, fstatSync, open, openSync, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { errnoCode } from '../sys/errno-code.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { entryPath } from './folder-entries.ts';
import { syncWhileFast } from './sync-while-fast.ts';

const O_PATH = 0o10000000;
const OPEN_FOLDER = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Folders that are open at once: a tree may be deeper than the descriptor limit. */
const MAX_OPEN = 32;

const [openInPool, closeInPool] = [promisify(open), promisify(close)];

export interface OpenFolder {
  readonly fd: number;
  readonly stats: Stats;
}

/** Small: containers decide how deep a tree is. */
interface StackedFolder {
  readonly name: string;
  readonly device: number;
  readonly inode: number;
  fd: number | undefined;
}

/**
 * The folders from the root of a tree to the current one. Each is opened by its name in its parent without following a
 * link, so that the stack never leaves the tree while other processes move folders or replace them by links.
 */
export class FolderStack implements AsyncDisposable {
  readonly #steps: StackedFolder[];

  constructor(root: OpenFolder) {
    this.#steps = [stackedFolder('', root)];
  }

  get depth(): number {
    return this.#steps.length;
  }

  /** The descriptor of the current folder. */
  get last(): number {
    const fd = this.#steps.at(-1)?.fd;
    if (fd === undefined) throw new Error('the folder stack is empty');
    return fd;
  }

  /** Enters a folder in the current one; `undefined`: it is not a folder, or does not exist any more. */
  async enter(name: string): Promise<OpenFolder | undefined> {
    const opened = await openFolder(entryPath(this.last, name));
    if (opened === undefined) return undefined;
    this.#steps.push(stackedFolder(name, opened));
    const far = this.#steps[this.#steps.length - 1 - MAX_OPEN];
    if (far?.fd !== undefined && far !== this.#steps[0]) {
      const { fd } = far;
      far.fd = undefined;
      await closeFolder(fd);
    }
    return opened;
  }

  /**
   * Returns to the parent folder, or further up if the folder was moved meanwhile. Folders that are not below the root any
   * more are not part of the tree.
   */
  async leave(): Promise<void> {
    const left = this.#steps.pop();
    const parent = this.#steps.at(-1);
    if (left?.fd === undefined) return;
    try {
      if (parent?.fd === undefined && parent !== undefined) await this.#reopen(parent, left.fd);
    } finally {
      await closeFolder(left.fd);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { fd } of this.#steps.splice(0)) if (fd !== undefined) await closeFolder(fd);
  }

  async #reopen(folder: StackedFolder, child: number): Promise<void> {
    const above = await openFolder(pathInFolder(child, '..'));
    if (above && isSame(above, folder)) folder.fd = above.fd;
    else {
      if (above) await closeFolder(above.fd);
      await this.#findAgain();
    }
  }

  /** Reopens the closed folders from the root on. The stack is cut where a folder is missing or replaced. */
  async #findAgain(): Promise<void> {
    for (let index = 1; index < this.#steps.length; index++) {
      const [before, step] = [this.#steps[index - 1], this.#steps[index]];
      if (before?.fd === undefined || step === undefined) return;
      const found = await openFolder(entryPath(before.fd, step.name));
      if (found === undefined || !isSame(found, step)) {
        if (found) await closeFolder(found.fd);
        this.#steps.length = index;
        return;
      }
      step.fd = found.fd;
      if (index === 1) continue;
      await closeFolder(before.fd);
      before.fd = undefined;
    }
  }
}

function stackedFolder(name: string, { fd, stats }: OpenFolder): StackedFolder {
  return { name, device: stats.dev, inode: stats.ino, fd };
}

function isSame({ stats }: OpenFolder, { device, inode }: StackedFolder): boolean {
  return stats.dev === device && stats.ino === inode;
}

/** `undefined`: the path is not a folder; links are not followed. */
export async function openFolder(path: KernelPath): Promise<OpenFolder | undefined> {
  try {
    const fd = await syncWhileFast(
      () => openSync(path, OPEN_FOLDER),
      () => openInPool(path, OPEN_FOLDER),
    );
    return { fd, stats: fstatSync(fd) }; // never waits for the disk
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** Closing the last descriptor of a removed folder frees its blocks, which may wait for the disk. */
async function closeFolder(fd: number): Promise<void> {
  await syncWhileFast(
    () => closeSync(fd),
    () => closeInPool(fd),
  );
}
