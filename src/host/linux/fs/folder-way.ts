import { close, closeSync, constants, fstatSync, open, openSync, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { errnoCode } from '../sys/errno-code.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { atDiskPace } from './disk-pace.ts';
import { placeOfEntry } from './folder-entries.ts';

const O_PATH = 0o10000000;
const OPEN_FOLDER = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Folders that are held open at once: a tree may be deeper than there are descriptors. */
const MOST_OPEN = 32;

const [openInPool, closeInPool] = [promisify(open), promisify(close)];

export interface OpenFolder {
  readonly fd: number;
  readonly stats: Stats;
}

/** Little, as a container decides how many there are. */
interface Step {
  readonly name: string;
  readonly device: number;
  readonly inode: number;
  fd: number | undefined;
}

/**
 * The folders from the root of a tree to the one that is being looked at. Each was opened by its name in the one before,
 * without following a link: while others move folders and put links in their place, the way never leaves the tree.
 */
export class FolderWay implements AsyncDisposable {
  readonly #steps: Step[];

  constructor(root: OpenFolder) {
    this.#steps = [stepInto('', root)];
  }

  get depth(): number {
    return this.#steps.length;
  }

  /** The descriptor of the folder at the end of the way. */
  get last(): number {
    const fd = this.#steps.at(-1)?.fd;
    if (fd === undefined) throw new Error('the way has no open folder');
    return fd;
  }

  /** Goes on to a folder in the last one; `undefined`: it is none, or not any more. */
  async enter(name: string): Promise<OpenFolder | undefined> {
    const opened = await openFolder(placeOfEntry(this.last, name));
    if (opened === undefined) return undefined;
    this.#steps.push(stepInto(name, opened));
    const far = this.#steps[this.#steps.length - 1 - MOST_OPEN];
    if (far?.fd !== undefined && far !== this.#steps[0]) {
      const { fd } = far;
      far.fd = undefined;
      await closeFolder(fd);
    }
    return opened;
  }

  /**
   * Goes back by one folder; by more if the folder was moved elsewhere meanwhile. What is not below the root any more is
   * not part of the tree.
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

  async #reopen(folder: Step, child: number): Promise<void> {
    const above = await openFolder(pathInFolder(child, '..'));
    if (above && isSame(above, folder)) folder.fd = above.fd;
    else {
      if (above) await closeFolder(above.fd);
      await this.#findAgain();
    }
  }

  /** From the root on; all folders between were closed. The way ends where it does not lead on. */
  async #findAgain(): Promise<void> {
    for (let index = 1; index < this.#steps.length; index++) {
      const [before, step] = [this.#steps[index - 1], this.#steps[index]];
      if (before?.fd === undefined || step === undefined) return;
      const found = await openFolder(placeOfEntry(before.fd, step.name));
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

function stepInto(name: string, { fd, stats }: OpenFolder): Step {
  return { name, device: stats.dev, inode: stats.ino, fd };
}

function isSame({ stats }: OpenFolder, { device, inode }: Step): boolean {
  return stats.dev === device && stats.ino === inode;
}

/** `undefined`: no folder is there; a link to one is none. */
export async function openFolder(place: KernelPath): Promise<OpenFolder | undefined> {
  try {
    const fd = await atDiskPace(
      () => openSync(place, OPEN_FOLDER),
      () => openInPool(place, OPEN_FOLDER),
    );
    return { fd, stats: fstatSync(fd) }; // of an open place the kernel knows all
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** The last descriptor of a removed folder frees all of it, which takes as long as the disk does. */
async function closeFolder(fd: number): Promise<void> {
  await atDiskPace(
    () => closeSync(fd),
    () => closeInPool(fd),
  );
}
