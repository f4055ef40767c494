import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  lutimesSync,
  open,
  openSync,
  write,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import type { TreeAttributes, TreeNode } from '../../tree.ts';
import { noteReleasedBuffer } from '../process/released-buffers.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { setXattr } from '../sys/file-calls.ts';
import type { KernelPath } from '../sys/kernel-path.ts';
import { syncWhileFast } from './sync-while-fast.ts';

const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const XATTR_UNSUPPORTED: ReadonlySet<string | undefined> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EPERM']);
const writeAt = promisify(write);
const openInPool = promisify(open);

type File = Extract<TreeNode, { readonly kind: 'file' }>;

export async function writeTreeFile(path: KernelPath, node: File): Promise<void> {
  const fd = await syncWhileFast(
    () => openSync(path, CREATE_FILE, 0o600),
    () => openInPool(path, CREATE_FILE, 0o600),
  );
  try {
    await (node.extents ? writeExtents(fd, node) : writeWhole(fd, node));
    fchownSync(fd, node.uid, node.gid);
    fchmodSync(fd, node.mode); // after chown(2), which clears setuid and setgid
    setXattrs(path, node);
    futimesSync(fd, node.modifiedMs / 1000, node.modifiedMs / 1000);
  } finally {
    closeSync(fd);
  }
}

async function writeWhole(fd: number, { content }: File): Promise<void> {
  for await (const chunk of content) await writeChunk(fd, chunk, null);
}

async function writeExtents(fd: number, { size, content, extents = [] }: File): Promise<void> {
  ftruncateSync(fd, size);
  const waiting = [...extents];
  let done = 0;
  for await (const chunk of content) {
    for (let rest = chunk; rest.byteLength > 0; ) {
      const extent = waiting[0];
      if (extent === undefined) return;
      const part = rest.subarray(0, extent.length - done);
      await writeChunk(fd, part, extent.offset + done);
      rest = rest.subarray(part.byteLength);
      done += part.byteLength;
      if (done < extent.length) continue;
      waiting.shift();
      done = 0;
    }
  }
}

async function writeChunk(fd: number, chunk: Uint8Array, position: number | null): Promise<void> {
  for (let written = 0; written < chunk.byteLength; ) {
    const [at, left] = [position === null ? null : position + written, chunk.byteLength - written];
    written += await syncWhileFast(
      () => writeSync(fd, chunk, written, left, at),
      async () => (await writeAt(fd, chunk, written, left, at)).bytesWritten,
    );
  }
  noteReleasedBuffer(chunk.byteLength);
}

export function setTreeAttributes(path: KernelPath, node: TreeAttributes, { isLink = false } = {}): void {
  lchownSync(path, node.uid, node.gid);
  if (!isLink) chmodSync(path, node.mode);
  setXattrs(path, node);
  lutimesSync(path, node.modifiedMs / 1000, node.modifiedMs / 1000);
}

/** Must follow chown(2), which clears capabilities. */
function setXattrs(path: KernelPath, { xattrs }: TreeAttributes): void {
  for (const [name, value] of xattrs ?? []) {
    try {
      setXattr(path, name, value);
    } catch (error) {
      if (!XATTR_UNSUPPORTED.has(errnoCode(error))) throw error;
    }
  }
}
