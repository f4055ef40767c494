import { createReadStream, readlinkSync, type Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { byCodePoint } from '../../base/code-point-order.ts';
import { inGroups } from '../../base/in-groups.ts';
import type { TreeAttributes, TreeContent, TreeMember, TreeUsage } from '../tree.ts';
import { deviceNumbers } from './device-numbers.ts';
import { readXattrs } from './tree-calls.ts';
import { unlessMissing } from './unless-missing.ts';

/** st_blocks counts these, whatever the file system's own blocks are. */
const BLOCK_BYTES = 512;
const CHUNK_BYTES = 256 * 1024;
/** Files of a folder that are looked at side by side. */
const AT_ONCE = 64;

/** Every member after the folder that it is in, names in code-point order; sockets are left out, as archives do. */
export async function* readTree(root: string, signal: AbortSignal): AsyncGenerator<TreeMember, void, void> {
  /** Where a file with several names was seen first. */
  const firstNames = new Map<string, string>();
  for await (const { path, stats } of walk(root, signal)) {
    const place = join(root, path);
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
  for await (const { stats } of walk(root, signal)) {
    const inode = `${stats.dev}:${stats.ino}`;
    if (stats.nlink > 1 && !stats.isDirectory()) {
      if (several.has(inode)) continue;
      several.add(inode);
    }
    bytes += stats.blocks * BLOCK_BYTES;
    inodes += 1;
  }
  return { bytes, inodes };
}

interface Seen {
  readonly path: string;
  readonly stats: Stats;
}

/** What goes away meanwhile is not told. */
async function* walk(root: string, signal: AbortSignal): AsyncGenerator<Seen, void, void> {
  const top = await unlessMissing(lstat(root));
  const waiting: Seen[] = top ? [{ path: '', stats: top }] : [];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    signal.throwIfAborted();
    yield next;
    if (!next.stats.isDirectory() || next.stats.dev !== top?.dev) continue;
    waiting.push(...(await childrenOf(root, next.path)).reverse());
  }
}

async function childrenOf(root: string, path: string): Promise<Seen[]> {
  const names = (await unlessMissing(readdir(join(root, path)))) ?? [];
  const children = await inGroups(names.sort(byCodePoint), AT_ONCE, async (name) => {
    const stats = await unlessMissing(lstat(join(root, path, name)));
    return stats ? [{ path: join(path, name), stats }] : [];
  });
  return children.flat();
}

function attributesOf(place: string, stats: Stats): TreeAttributes {
  const xattrs = readXattrs(place);
  const { uid, gid, mtimeMs } = stats;
  return { mode: stats.mode & 0o7777, uid, gid, modifiedMs: mtimeMs, ...(xattrs.size > 0 ? { xattrs } : {}) };
}

function contentOf(place: string, stats: Stats, signal: AbortSignal): TreeContent | undefined {
  if (stats.isFile()) return { kind: 'file', size: stats.size, content: bytesOf(place, stats.size, signal) };
  if (stats.isDirectory()) return { kind: 'directory' };
  if (stats.isSymbolicLink()) return { kind: 'symlink', target: readlinkSync(place) };
  if (stats.isFIFO()) return { kind: 'fifo' };
  if (stats.isCharacterDevice()) return { kind: 'characterDevice', ...deviceNumbers(stats.rdev) };
  if (stats.isBlockDevice()) return { kind: 'blockDevice', ...deviceNumbers(stats.rdev) };
  return undefined;
}

/** Opened only when somebody reads. */
async function* bytesOf(place: string, size: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  if (size === 0) return;
  yield* createReadStream(place, { highWaterMark: CHUNK_BYTES, end: size - 1, signal });
}
