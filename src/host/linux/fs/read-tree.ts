import { constants, createReadStream, lstatSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { fileNameOf } from '../../file-name.ts';
import { FileSystemError } from '../../file-system.ts';
import type { TreeAttributes, TreeContent, TreeMember, TreeUsage } from '../../tree.ts';
import { deviceNumbers } from '../sys/device-numbers.ts';
import { readXattrs } from '../sys/file-calls.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { atDiskPace } from './disk-pace.ts';
import { placeOfEntry } from './folder-entries.ts';
import { LinkedFiles } from './linked-files.ts';
import { unlessMissing } from './unless-missing.ts';
import { pathOfEntry, walkTree } from './walk-tree.ts';

/** st_blocks counts these, whatever the file system's own blocks are. */
const BLOCK_BYTES = 512;
const CHUNK_BYTES = 256 * 1024;
const O_PATH = 0o10000000;

/** Every member after the folder that it is in, names in code-point order; sockets are left out, as archives do. */
export async function* readTree(root: string, signal: AbortSignal): AsyncGenerator<TreeMember, void, void> {
  /** Where a file with several names was seen first, until all its names were. */
  const firstNames = new Map<number, { readonly path: string; left: number }>();
  for await (const { path, place, stats } of membersOf(root, signal)) {
    const content = await contentOf(place, stats, signal);
    if (content === undefined) continue;
    const hasSeveral = stats.nlink > 1 && !stats.isDirectory();
    const first = hasSeveral ? firstNames.get(stats.ino) : undefined;
    if (first !== undefined && --first.left === 0) firstNames.delete(stats.ino);
    if (hasSeveral && first === undefined) firstNames.set(stats.ino, { path, left: stats.nlink - 1 });
    const node = first === undefined ? content : ({ kind: 'hardLink', target: first.path } as const);
    yield { path, node: { ...attributesOf(place, stats), ...node } };
  }
}

export async function treeUsage(root: string, signal: AbortSignal): Promise<TreeUsage> {
  const linked = new LinkedFiles();
  let [bytes, inodes] = [0, 0];
  const count = (stats: Stats): void => {
    const share = stats.isDirectory() ? 1 : linked.shareOf(stats.ino, stats.nlink);
    bytes += stats.blocks * BLOCK_BYTES * share;
    inodes += share;
  };
  let isFolder = false;
  for await (const event of walkTree(root, { order: 'any' }, signal)) {
    isFolder = true;
    if (event.kind === 'enter') count(event.stats);
    if (event.kind !== 'entries') continue;
    for (const { name } of event.entries) {
      const stats = await statsOf(placeOfEntry(event.folder, name));
      if (stats) count(stats);
    }
  }
  const alone = isFolder ? undefined : await unlessMissing(lstat(root));
  if (alone) count(alone);
  return { bytes: Math.round(bytes), inodes: Math.round(inodes) };
}

interface Member {
  readonly path: string;
  /** Good until the next one is asked for. */
  readonly place: KernelPath;
  readonly stats: Stats;
}

async function* membersOf(root: string, signal: AbortSignal): AsyncGenerator<Member, void, void> {
  let isFolder = false;
  for await (const event of walkTree(root, { order: 'byName' }, signal)) {
    isFolder = true;
    if (event.kind === 'enter') yield { path: event.path, place: pathInFolder(event.folder, '.'), stats: event.stats };
    if (event.kind !== 'entries') continue;
    for (const { name } of event.entries) {
      const place = placeOfEntry(event.folder, name);
      const stats = await statsOf(place);
      // A folder that has taken the place of a file would be shown without what is in it.
      if (stats && !stats.isDirectory()) yield { path: pathOfEntry(event.path, name), place, stats };
    }
  }
  const alone = isFolder ? undefined : await unlessMissing(lstat(root));
  if (alone) yield { path: '', place: root, stats: alone };
}

/** 3 µs on this thread, 17 µs through Node's pool, most of which this thread spends as well. */
function statsOf(place: KernelPath): Promise<Stats | undefined> {
  return atDiskPace(
    () => lstatSync(place, { throwIfNoEntry: false }),
    () => unlessMissing(lstat(place)),
  );
}

function attributesOf(place: KernelPath, stats: Stats): TreeAttributes {
  const xattrs = readXattrs(place);
  const { uid, gid, mtimeMs } = stats;
  return { mode: stats.mode & 0o7777, uid, gid, modifiedMs: mtimeMs, ...(xattrs.size > 0 ? { xattrs } : {}) };
}

async function contentOf(place: KernelPath, stats: Stats, signal: AbortSignal): Promise<TreeContent | undefined> {
  if (stats.isFile()) return { kind: 'file', size: stats.size, content: bytesOf(place, stats, signal) };
  if (stats.isDirectory()) return { kind: 'directory' };
  if (stats.isSymbolicLink()) return { kind: 'symlink', target: fileNameOf(await readlink(place, 'buffer')) };
  if (stats.isFIFO()) return { kind: 'fifo' };
  if (stats.isCharacterDevice()) return { kind: 'characterDevice', ...deviceNumbers(stats.rdev) };
  if (stats.isBlockDevice()) return { kind: 'blockDevice', ...deviceNumbers(stats.rdev) };
  return undefined;
}

/** Opened only when it is read. */
async function* bytesOf(place: KernelPath, stats: Stats, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  if (stats.size === 0) return;
  await using file = await openSame(place, stats);
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

/** Opens the file that was looked at, and not a link or a device that has taken its place. */
async function openSame(place: KernelPath, { dev, ino }: Stats): Promise<FileHandle> {
  await using found = await open(place, O_PATH | constants.O_NOFOLLOW);
  const now = await found.stat();
  // The number of a removed file may be that of a new link.
  if (!now.isFile() || now.dev !== dev || now.ino !== ino) throw new FileSystemError('ESTALE', 'read', String(place));
  return await open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY);
}
