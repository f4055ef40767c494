import {
  closeSync,
  constants,
  createReadStream,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { inGroups } from '../../../base/in-groups.ts';
import { byFileName, fileNameOf } from '../../file-name.ts';
import type { TreeAttributes, TreeContent, TreeMember, TreeUsage } from '../../tree.ts';
import { deviceNumbers } from '../sys/device-numbers.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { readXattrs } from '../sys/tree-calls.ts';
import { type Place, placeIn } from '../sys/tree-place.ts';
import { atDiskPace } from './disk-pace.ts';
import { unlessMissing } from './unless-missing.ts';

/** st_blocks counts these, whatever the file system's own blocks are. */
const BLOCK_BYTES = 512;
const CHUNK_BYTES = 256 * 1024;
/** Files of a folder that are looked at side by side. */
const AT_ONCE = 64;
/** A way with more characters goes on from a folder that is held open: the kernel takes 4096 bytes at once. */
const LONGEST_WAY = 750;
const OPEN_FOLDER = 0o10000000 | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Every member after the folder that it is in, names in code-point order; sockets are left out, as archives do. */
export async function* readTree(root: string, signal: AbortSignal): AsyncGenerator<TreeMember, void, void> {
  /** Where a file with several names was seen first. */
  const firstNames = new Map<string, string>();
  for await (const { path, place, stats } of walk(root, signal)) {
    const content = contentOf(place, stats, signal);
    if (content === undefined) continue;
    const inode = `${stats.dev}:${stats.ino}`;
    const hasSeveral = stats.nlink > 1 && !stats.isDirectory();
    const first = hasSeveral ? firstNames.get(inode) : undefined;
    if (hasSeveral && first === undefined) firstNames.set(inode, path);
    const node = first === undefined ? content : ({ kind: 'hardLink', target: first } as const);
    yield { path, node: { ...attributesOf(place, stats), ...node } };
  }
}

export async function treeUsage(root: string, signal: AbortSignal): Promise<TreeUsage> {
  const several = new Set<string>();
  let [bytes, inodes] = [0, 0];
  const count = (stats: Stats): void => {
    if (stats.nlink > 1 && !stats.isDirectory()) {
      const inode = `${stats.dev}:${stats.ino}`;
      if (several.has(inode)) return;
      several.add(inode);
    }
    bytes += stats.blocks * BLOCK_BYTES;
    inodes += 1;
  };
  for await (const { stats } of walk(root, signal, count)) count(stats);
  return { bytes, inodes };
}

interface Seen {
  readonly path: string;
  readonly place: Place;
  readonly stats: Stats;
  /** The open folder that its place goes on from, and the way from there. */
  readonly anchor: number;
  readonly way: string;
}

/** What goes away meanwhile is not told. With `count`, what is in folders is only counted, in any order. */
async function* walk(
  root: string,
  signal: AbortSignal,
  count?: (stats: Stats) => void,
): AsyncGenerator<Seen, void, void> {
  const open = new Set<number>();
  try {
    const anchor = openFolder(root);
    if (anchor === undefined) {
      const stats = await unlessMissing(lstat(root));
      if (stats) yield { path: '', place: root, stats, anchor: 0, way: '' };
      return;
    }
    open.add(anchor);
    const place = placeIn(anchor, '.');
    const top = await lstat(place);
    /** A number: the folder is not needed any more. */
    const waiting: Array<Seen | number> = [{ path: '', place, stats: top, anchor, way: '.' }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (typeof next === 'number') {
        closeSync(next);
        open.delete(next);
        continue;
      }
      signal.throwIfAborted();
      yield next;
      if (!next.stats.isDirectory() || next.stats.dev !== top.dev) continue;
      const folder = nearer(next, open, waiting);
      if (folder) waiting.push(...(await childrenOf(folder, count)).reverse());
    }
  } finally {
    for (const fd of open) closeSync(fd);
  }
}

/** The same folder with a way that the kernel takes. */
function nearer(folder: Seen, open: Set<number>, waiting: Array<Seen | number>): Seen | undefined {
  if (folder.way.length < LONGEST_WAY) return folder;
  const anchor = openFolder(folder.place);
  if (anchor === undefined) return undefined;
  open.add(anchor);
  waiting.push(anchor);
  return { ...folder, anchor, way: '.', place: placeIn(anchor, '.') };
}

function openFolder(place: Place): number | undefined {
  try {
    return openSync(place, OPEN_FOLDER);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}

async function childrenOf({ path, place, anchor, way }: Seen, count?: (stats: Stats) => void): Promise<Seen[]> {
  const names = (await namesIn(place)).map(fileNameOf);
  const children = await inGroups(count ? names : names.sort(byFileName), AT_ONCE, async (name) => {
    const [itsWay, itsPath] = [`${way}/${name}`, path === '' ? name : `${path}/${name}`];
    const itsPlace = placeIn(anchor, itsWay);
    const stats = await atDiskPace(
      () => lstatSync(itsPlace, { throwIfNoEntry: false }),
      () => unlessMissing(lstat(itsPlace)),
    );
    if (stats === undefined) return [];
    if (count === undefined || stats.isDirectory()) {
      return [{ path: itsPath, place: itsPlace, stats, anchor, way: itsWay }];
    }
    count(stats);
    return [];
  });
  return children.flat();
}

async function namesIn(place: Place): Promise<Buffer[]> {
  const options = { encoding: 'buffer' } as const;
  const names = atDiskPace(
    () => readdirSync(place, options),
    () => readdir(place, options),
  );
  return (await unlessMissing(names)) ?? [];
}

function attributesOf(place: Place, stats: Stats): TreeAttributes {
  const xattrs = readXattrs(place);
  const { uid, gid, mtimeMs } = stats;
  return { mode: stats.mode & 0o7777, uid, gid, modifiedMs: mtimeMs, ...(xattrs.size > 0 ? { xattrs } : {}) };
}

function contentOf(place: Place, stats: Stats, signal: AbortSignal): TreeContent | undefined {
  if (stats.isFile()) return { kind: 'file', size: stats.size, content: bytesOf(place, stats.size, signal) };
  if (stats.isDirectory()) return { kind: 'directory' };
  if (stats.isSymbolicLink()) return { kind: 'symlink', target: fileNameOf(readlinkSync(place, 'buffer')) };
  if (stats.isFIFO()) return { kind: 'fifo' };
  if (stats.isCharacterDevice()) return { kind: 'characterDevice', ...deviceNumbers(stats.rdev) };
  if (stats.isBlockDevice()) return { kind: 'blockDevice', ...deviceNumbers(stats.rdev) };
  return undefined;
}

/** Opened only when somebody reads. */
async function* bytesOf(place: Place, size: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  if (size === 0) return;
  yield* createReadStream(place, { highWaterMark: CHUNK_BYTES, end: size - 1, signal });
}
