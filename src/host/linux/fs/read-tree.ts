import { constants, createReadStream, lstatSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { fileNameOf } from '../../file-name.ts';
import { FileSystemError } from '../../file-system.ts';
import type { TreeAttributes, TreeContent, TreeMember, TreeUsage } from '../../tree.ts';
import { deviceNumbers } from '../sys/device-numbers.ts';
import { readXattrs } from '../sys/file-calls.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { entryPath } from './folder-entries.ts';
import { syncWhileFast } from './sync-while-fast.ts';
import { unlessMissing } from './unless-missing.ts';
import { entryTreePath, walkTree } from './walk-tree.ts';

/** Inodes that are kept in memory. */
const MAX_INODES = 100_000;

/**
 * Counts a file with several hard links once. Containers decide how many such files there are: above a limit, each link
 * counts as a fraction of the file, which gives the same sum when all links are in the tree.
 */
export class HardLinkCounter {
  readonly #most: number;
  readonly #seen = new Set<number>();

  constructor(most = MAX_INODES) {
    this.#most = most;
  }

  /** The share of the file that this link counts as: 1, 0 or a fraction. */
  countedShare(inode: number, names: number): number {
    if (names <= 1) return 1;
    if (this.#seen.has(inode)) return 0;
    if (this.#seen.size >= this.#most) return 1 / names;
    this.#seen.add(inode);
    return 1;
  }
}

/** The unit of st_blocks, whatever the filesystem's block size. */
const BLOCK_BYTES = 512;
const CHUNK_BYTES = 256 * 1024;
const O_PATH = 0o10000000;

/** Yields every member after its folder, names by bytes; sockets are left out, as in archives. */
export async function* readTree(root: string, signal: AbortSignal): AsyncGenerator<TreeMember, void, void> {
  /** The first path of each file with several links, until all its links were visited. */
  const firstPaths = new Map<number, { readonly path: string; left: number }>();
  for await (const { path, kernelPath, stats } of membersOf(root, signal)) {
    const content = await contentOf(kernelPath, stats, signal);
    if (content === undefined) continue;
    const hasSeveralLinks = stats.nlink > 1 && !stats.isDirectory();
    const first = hasSeveralLinks ? firstPaths.get(stats.ino) : undefined;
    if (first !== undefined && --first.left === 0) firstPaths.delete(stats.ino);
    if (hasSeveralLinks && first === undefined) firstPaths.set(stats.ino, { path, left: stats.nlink - 1 });
    const node = first === undefined ? content : ({ kind: 'hardLink', target: first.path } as const);
    yield { path, node: { ...attributesOf(kernelPath, stats), ...node } };
  }
}

export async function treeUsage(root: string, signal: AbortSignal): Promise<TreeUsage> {
  const linked = new HardLinkCounter();
  let [bytes, inodes] = [0, 0];
  const count = (stats: Stats): void => {
    const share = stats.isDirectory() ? 1 : linked.countedShare(stats.ino, stats.nlink);
    bytes += stats.blocks * BLOCK_BYTES * share;
    inodes += share;
  };
  let isFolder = false;
  for await (const event of walkTree(root, { order: 'any' }, signal)) {
    isFolder = true;
    if (event.kind === 'enter') count(event.stats);
    if (event.kind !== 'entries') continue;
    for (const { name } of event.entries) {
      const stats = await statsOf(entryPath(event.folder, name));
      if (stats) count(stats);
    }
  }
  const alone = isFolder ? undefined : await unlessMissing(lstat(root));
  if (alone) count(alone);
  return { bytes: Math.round(bytes), inodes: Math.round(inodes) };
}

interface Member {
  readonly path: string;
  /** Valid until the next member is requested. */
  readonly kernelPath: KernelPath;
  readonly stats: Stats;
}

async function* membersOf(root: string, signal: AbortSignal): AsyncGenerator<Member, void, void> {
  let isFolder = false;
  for await (const event of walkTree(root, { order: 'byName' }, signal)) {
    isFolder = true;
    if (event.kind === 'enter')
      yield { path: event.path, kernelPath: pathInFolder(event.folder, '.'), stats: event.stats };
    if (event.kind !== 'entries') continue;
    for (const { name } of event.entries) {
      const kernelPath = entryPath(event.folder, name);
      const stats = await statsOf(kernelPath);
      // A folder that has replaced a file would be yielded without its content.
      if (stats && !stats.isDirectory()) yield { path: entryTreePath(event.path, name), kernelPath, stats };
    }
  }
  const alone = isFolder ? undefined : await unlessMissing(lstat(root));
  if (alone) yield { path: '', kernelPath: root, stats: alone };
}

/** 3 µs on this thread, 17 µs through Node's pool, most of them also on this thread. */
function statsOf(kernelPath: KernelPath): Promise<Stats | undefined> {
  return syncWhileFast(
    () => lstatSync(kernelPath, { throwIfNoEntry: false }),
    () => unlessMissing(lstat(kernelPath)),
  );
}

function attributesOf(kernelPath: KernelPath, stats: Stats): TreeAttributes {
  const xattrs = readXattrs(kernelPath);
  const { uid, gid, mtimeMs } = stats;
  return { mode: stats.mode & 0o7777, uid, gid, modifiedMs: mtimeMs, ...(xattrs.size > 0 ? { xattrs } : {}) };
}

async function contentOf(kernelPath: KernelPath, stats: Stats, signal: AbortSignal): Promise<TreeContent | undefined> {
  if (stats.isFile()) return { kind: 'file', size: stats.size, content: bytesOf(kernelPath, stats, signal) };
  if (stats.isDirectory()) return { kind: 'directory' };
  if (stats.isSymbolicLink()) return { kind: 'symlink', target: fileNameOf(await readlink(kernelPath, 'buffer')) };
  if (stats.isFIFO()) return { kind: 'fifo' };
  if (stats.isCharacterDevice()) return { kind: 'characterDevice', ...deviceNumbers(stats.rdev) };
  if (stats.isBlockDevice()) return { kind: 'blockDevice', ...deviceNumbers(stats.rdev) };
  return undefined;
}

/** Opens the file only when it is read. */
async function* bytesOf(
  kernelPath: KernelPath,
  stats: Stats,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  if (stats.size === 0) return;
  await using file = await openSame(kernelPath, stats);
  const { fd } = file;
  yield* createReadStream('', {
    fd,
    autoClose: false,
    start: 0,
    end: stats.size - 1,
    highWaterMark: CHUNK_BYTES,
    signal,
  });
}

/** Opens the file that was visited, and not a link or a device that has replaced it. */
async function openSame(kernelPath: KernelPath, { dev, ino }: Stats): Promise<FileHandle> {
  await using found = await open(kernelPath, O_PATH | constants.O_NOFOLLOW);
  const now = await found.stat();
  // A new link may have the inode number of the removed file.
  if (!now.isFile() || now.dev !== dev || now.ino !== ino)
    throw new FileSystemError('ESTALE', 'read', String(kernelPath));
  return await open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY);
}
