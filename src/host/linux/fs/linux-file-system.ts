import type { Stats } from 'node:fs';
import { createReadStream, createWriteStream } from 'node:fs';
import {
  appendFile,
  chmod,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  statfs,
  symlink,
  unlink,
} from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { byCodePoint } from '../../../base/code-point-order.ts';
import { bytesOfFileName } from '../../file-name.ts';
import {
  type DirectoryEntry,
  type FileStat,
  type FileSystem,
  FileSystemError,
  type WriteOptions,
} from '../../file-system.ts';
import { deviceNumbers } from '../sys/device-numbers.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { makeDirectoryBeneath } from './beneath.ts';
import { fileKind } from './file-kind.ts';
import { openDirectoryBeneath } from './open-directory.ts';
import { openFile, openFileBeneath, readRange } from './open-file.ts';
import { removeTree } from './remove-tree.ts';
import { setTreeGroup } from './set-tree-group.ts';
import { unlessMissing } from './unless-missing.ts';
import { watchPath } from './watch-path.ts';
import { writeFileAtomic, writeFileReplacing } from './write-file-atomic.ts';

const CHUNK_BYTES = 128 * 1024;

/** The machine's files. */
export const linuxFileSystem: FileSystem = {
  readFile: (path, signal) => attempt('read', path, () => readFile(path, signal ? { signal } : {}), signal),
  readText: (path, signal) =>
    attempt('read', path, () => readFile(path, { encoding: 'utf8', ...(signal ? { signal } : {}) }), signal),
  readRange: (path, offset, length) => attempt('read', path, () => readRangeAt(path, offset, length)),

  openFile: (path, options) => attempt('open', path, () => openFile(path, asFileStat, options)),
  openFileBeneath: (root, path) => attempt('open', `${root}/${path}`, () => openFileBeneath(root, path, asFileStat)),
  openDirectoryBeneath: (root, path) =>
    attempt('open', `${root}/${path}`, () => openDirectoryBeneath(root, path, asFileStat)),

  writeFile: (path, data, options) => attempt('write', path, () => writeWhole(path, data, options)),
  appendFile: (path, data) => attempt('append', path, () => appendFile(path, data)),
  writeAtomic: (path, data, options) => attempt('write', path, () => writeFileAtomic(path, data, options?.mode)),
  writeReplacing: (path, data, options) => attempt('write', path, () => writeFileReplacing(path, data, options?.mode)),

  makeDirectory: (path, mode) => attempt('makeDirectory', path, () => makeDirectory(path, mode)),
  makeDirectoryBeneath: (root, path, mode) =>
    attempt('makeDirectory', `${root}/${path}`, () => makeDirectoryBeneath(root, path, mode)),
  readDirectory: (path) => attempt('readDirectory', path, () => readSorted(path)),
  stat: (path) => attempt('stat', path, () => unlessMissing(stat(path).then(asFileStat))),
  lstat: (path) => attempt('lstat', path, () => unlessMissing(lstat(bytesOfFileName(path)).then(asFileStat))),
  readLink: (path) => attempt('readLink', path, () => readlink(path)),
  realPath: (path) => attempt('realPath', path, () => realpath(path)),
  symbolicLink: (target, path) => attempt('symbolicLink', path, () => symlink(target, path)),
  rename: (from, to) => attempt('rename', from, () => rename(from, to)),
  renameUnlessTaken: (from, to) => attempt('rename', from, () => renameUnlessTaken(from, to)),
  compressFile: (from, to, signal) => attempt('compress', from, () => compressFile(from, to, signal), signal),
  changeMode: (path, mode) => attempt('changeMode', path, () => chmod(path, mode)),
  changeOwner: (path, uid, gid) => attempt('changeOwner', path, () => lchown(path, uid, gid)),

  remove: (path) => attempt('remove', path, () => removeOne(path)),
  removeTree: (path, signal) => attempt('removeTree', path, () => removeTree(path, signal), signal),
  setTreeGroup: (root, access, signal) =>
    attempt('setTreeGroup', root, () => setTreeGroup(root, access, signal), signal),
  watch: watchPath,
  async *watchRemovals(path, signal) {
    yield* (await import('./watch-removals.ts')).watchRemovals(path, signal);
  },
  usage: (path) => attempt('usage', path, () => usageOf(path)),

  // Loading the foreign function interface takes time, and many commands never need it.
  writeTree: (root, options) =>
    attempt('writeTree', root, async () => new (await import('./linux-tree-writer.ts')).LinuxTreeWriter(root, options)),
  openTree: (root) =>
    attempt('openTree', root, async () => new (await import('./linux-tree-files.ts')).LinuxTreeFiles(root)),
  async *readTree(root, signal) {
    yield* (await import('./read-tree.ts')).readTree(root, signal);
  },
  treeUsage: (root, signal) =>
    attempt('treeUsage', root, async () => (await import('./read-tree.ts')).treeUsage(root, signal), signal),
};

/** Runs one operation and turns its error into a `FileSystemError`. */
async function attempt<T>(operation: string, path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    const code = errnoCode(error);
    if (error instanceof FileSystemError || code === undefined) throw error;
    throw new FileSystemError(code, operation, path, { cause: error });
  }
}

async function readRangeAt(path: string, offset: number, length: number): Promise<Uint8Array> {
  await using file = await open(path, 'r');
  return await readRange(file, offset, length);
}

async function writeWhole(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void> {
  await using file = await open(path, 'w', options?.mode);
  if (options?.mode !== undefined) await file.chmod(options.mode); // open(2) applies the umask
  await file.writeFile(data);
}

/** It does not change while the process runs. */
const umask = process.umask();
const SET_ID = 0o6000;

async function makeDirectory(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, mode);
  } catch (error) {
    if (errnoCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (errnoCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await mkdir(dirname(path), { recursive: true });
    return makeDirectory(path, mode);
  }
  // mkdir(2) applies the umask and ignores setuid and setgid.
  if (mode !== undefined && (mode & (umask | SET_ID)) !== 0) await chmod(path, mode);
}

async function readSorted(path: string): Promise<DirectoryEntry[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries
    .map((entry) => ({ name: entry.name, kind: fileKind(entry) }))
    .sort((a, b) => byCodePoint(a.name, b.name));
}

async function removeOne(path: string): Promise<void> {
  const found = await unlessMissing(lstat(path));
  if (found === undefined) return;
  await unlessMissing(found.isDirectory() ? rmdir(path) : unlink(path));
}

async function usageOf(path: string) {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}

function asFileStat(stats: Stats): FileStat {
  return {
    kind: fileKind(stats),
    size: stats.size,
    mode: stats.mode & 0o7777,
    uid: stats.uid,
    gid: stats.gid,
    modifiedMs: stats.mtimeMs,
    device: stats.dev,
    inode: stats.ino,
    ...(stats.isCharacterDevice() || stats.isBlockDevice() ? { special: deviceNumbers(stats.rdev) } : {}),
  };
}

/** Compresses on Node's thread pool, a chunk at a time; the output is on disk when it resolves. */
async function compressFile(from: string, to: string, signal: AbortSignal): Promise<void> {
  const { mode } = await stat(from);
  // The fastest level compresses logs about as well, in less than half the time.
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: CHUNK_BYTES });
  const input = createReadStream(from, { highWaterMark: CHUNK_BYTES });
  await pipeline(input, gzip, createWriteStream(to, { mode: mode & 0o777 }), { signal });
  await using target = await open(to, 'r+');
  await target.chmod(mode & 0o7777); // open(2) applies the umask, and keeps the mode of an existing file
  await target.sync();
}

/** `false`: `to` exists. */
async function renameUnlessTaken(from: string, to: string): Promise<boolean> {
  // Loading the foreign function interface takes time, and many commands never need it.
  const { renameNoReplace } = await import('../sys/file-calls.ts');
  try {
    await renameNoReplace(from, to);
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EEXIST') return false;
    if (errnoCode(error) !== 'EINVAL') throw error;
  }
  // The filesystem does not support `RENAME_NOREPLACE`.
  if ((await unlessMissing(lstat(to))) !== undefined) return false;
  await rename(from, to);
  return true;
}
