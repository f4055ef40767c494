import { compareFileNames } from '../file-name.ts';
import type { GroupAccess } from '../file-system.ts';
import type { TreeContent, TreeMember, TreeUsage } from '../tree.ts';
import type { Inode } from './memory-inode.ts';

const BLOCK_BYTES = 4096;

/** Yields every member after its folder, names by bytes. */
export function* membersOf(root: Inode): Generator<TreeMember, void, void> {
  const firstPaths = new Map<Inode, string>();
  for (const { path, inode } of walk('', root)) {
    const first = inode.kind === 'directory' ? undefined : firstPaths.get(inode);
    if (first === undefined) firstPaths.set(inode, path);
    const content = first === undefined ? contentOf(inode) : ({ kind: 'hardLink', target: first } as const);
    if (content === undefined) continue;
    const { mode, uid, gid, modifiedMs, xattrs } = inode;
    yield { path, node: { mode, uid, gid, modifiedMs, ...(xattrs?.size ? { xattrs } : {}), ...content } };
  }
}

export function treeUsageOf(root: Inode | undefined): TreeUsage {
  const inodes = new Set(root ? [...walk('', root)].map(({ inode }) => inode) : []);
  const blocks = [...inodes].map((inode) => (inode.kind === 'file' ? Math.ceil(inode.bytes.length / BLOCK_BYTES) : 1));
  return { bytes: blocks.reduce((sum, count) => sum + count * BLOCK_BYTES, 0), inodes: inodes.size };
}

/** In any order. */
export function setGroup(root: Inode | undefined, { gid, fileMode, folderMode, onProgress }: GroupAccess): void {
  let files = 0;
  for (const { inode } of root ? walk('', root) : []) {
    inode.gid = gid;
    if (inode.kind !== 'symlink') inode.mode |= inode.kind === 'directory' ? folderMode : fileMode;
    files++;
  }
  onProgress?.(files);
}

/** Not recursive: a tree may be deeper than the stack. */
function* walk(path: string, inode: Inode): Generator<{ path: string; inode: Inode }, void, void> {
  const waiting = [{ path, inode }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    if (next.inode.kind !== 'directory') continue;
    for (const [name, child] of [...next.inode.entries].sort(([a], [b]) => compareFileNames(b, a))) {
      waiting.push({ path: next.path === '' ? name : `${next.path}/${name}`, inode: child });
    }
  }
}

function contentOf(inode: Inode): TreeContent | undefined {
  switch (inode.kind) {
    case 'file':
      return { kind: 'file', size: inode.bytes.byteLength, content: once(inode.bytes) };
    case 'directory':
    case 'fifo':
      return { kind: inode.kind };
    case 'symlink':
      return { kind: 'symlink', target: inode.target };
    case 'characterDevice':
    case 'blockDevice':
      return { kind: inode.kind, ...inode.special };
    case 'socket':
      return undefined;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  if (bytes.byteLength > 0) yield bytes.slice();
}
