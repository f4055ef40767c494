import type { Dirent, Stats } from 'node:fs';
import type { FileKind } from '../../file-system.ts';

export function fileKind(entry: Stats | Dirent): FileKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'symlink';
  if (entry.isSocket()) return 'socket';
  if (entry.isCharacterDevice()) return 'characterDevice';
  if (entry.isBlockDevice()) return 'blockDevice';
  return 'fifo';
}
