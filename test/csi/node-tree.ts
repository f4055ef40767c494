import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { byCodePoint } from '../../src/base/code-point-order.ts';

/** A file or folder below an agent's directory. */
export interface TreeEntry {
  readonly path: string;
  readonly kind: string;
  /** `0750` */
  readonly mode: string;
  /** `0:2000`; absent for `0:0`. */
  readonly owner?: string;
  readonly mountPoint?: true;
  /** The content of a JSON file, or the destination of a link. */
  readonly content?: unknown;
}

/** The tree at `root/path`, sorted; it does not enter mount points. Empty for a path that does not exist. */
export function treeAt(root: string, path: string): readonly TreeEntry[] {
  if (!existsSync(join(root, path)) && !isLink(join(root, path))) return [];
  const mounts = mountPoints();
  return entriesAt(root, path, (full) => mounts.has(full));
}

function entriesAt(root: string, path: string, isMountPoint: (path: string) => boolean): readonly TreeEntry[] {
  const full = join(root, path);
  const found = entryAt(full, path, isMountPoint(full));
  if (found.kind !== 'folder' || found.mountPoint) return [found];
  const names = readdirSync(full).sort(byCodePoint);
  return [found, ...names.flatMap((name) => entriesAt(root, `${path}/${name}`, isMountPoint))];
}

function entryAt(full: string, path: string, mountPoint: boolean): TreeEntry {
  const stats = lstatSync(full);
  const { mode, uid, gid } = stats;
  const content = contentOf(full, stats);
  return {
    path,
    kind: kindOf(stats),
    mode: (mode & 0o7777).toString(8).padStart(4, '0'),
    ...(uid === 0 && gid === 0 ? {} : { owner: `${uid}:${gid}` }),
    ...(mountPoint ? { mountPoint } : {}),
    ...(content === undefined ? {} : { content }),
  };
}

function contentOf(full: string, stats: Stats): unknown {
  if (stats.isSymbolicLink()) return readlinkSync(full);
  return stats.isFile() && full.endsWith('.json') ? JSON.parse(readFileSync(full, 'utf8')) : undefined;
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'folder';
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isBlockDevice()) return 'block device';
  return stats.isFile() ? 'file' : 'other';
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Every mount point of this mount namespace. The paths of tests have no character that the kernel escapes. */
export function mountPoints(): ReadonlySet<string> {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return new Set(lines.map((line) => line.split(' ')[4] ?? ''));
}
