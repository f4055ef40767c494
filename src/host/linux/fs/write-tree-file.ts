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
import { hasPassed } from '../process/passing-buffers.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { setXattr } from '../sys/file-calls.ts';
import type { KernelPath } from '../sys/kernel-path.ts';
import { atDiskPace } from './disk-pace.ts';

const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const WITHOUT_XATTR: ReadonlySet<string | undefined> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EPERM']);
const writeAt = promisify(write);
const openPlace = promisify(open);

type File = Extract<TreeNode, { readonly kind: 'file' }>;

export async function writeTreeFile(place: KernelPath, node: File): Promise<void> {
  const fd = await atDiskPace(
    () => openSync(place, CREATE_FILE, 0o600),
    () => openPlace(place, CREATE_FILE, 0o600),
  );
  try {
    await (node.extents ? writeExtents(fd, node) : writeWhole(fd, node));
    fchownSync(fd, node.uid, node.gid);
    fchmodSync(fd, node.mode); // after chown(2), which takes setuid and setgid away
    setXattrs(place, node);
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
    written += await atDiskPace(
      () => writeSync(fd, chunk, written, left, at),
      async () => (await writeAt(fd, chunk, written, left, at)).bytesWritten,
    );
  }
  hasPassed(chunk.byteLength);
}

export function setTreeAttributes(place: KernelPath, node: TreeAttributes, { isLink = false } = {}): void {
  lchownSync(place, node.uid, node.gid);
  if (!isLink) chmodSync(place, node.mode);
  setXattrs(place, node);
  lutimesSync(place, node.modifiedMs / 1000, node.modifiedMs / 1000);
}

/** After chown(2), which takes capabilities away. */
function setXattrs(place: KernelPath, { xattrs }: TreeAttributes): void {
  for (const [name, value] of xattrs ?? []) {
    try {
      setXattr(place, name, value);
    } catch (error) {
      if (!WITHOUT_XATTR.has(errnoCode(error))) throw error;
    }
  }
}
