import { createHash } from 'node:crypto';

/** The default `--root`, with the images and pods of `nodelet run`. */
export const DEFAULT_ROOT_DIR = '/var/lib/nodelet';

/** Derives the name from the root, so that two runtimes on one machine never share a bridge. The kernel allows 15 bytes. */
export function bridgeName(rootDir: string): string {
  if (rootDir === DEFAULT_ROOT_DIR) return 'nodelet0';
  return `nl-${createHash('sha256').update(rootDir).digest('hex').slice(0, 10)}`;
}
