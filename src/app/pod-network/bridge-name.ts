import { createHash } from 'node:crypto';

/** Where `nodelet run` keeps images and pods unless it is told otherwise. */
export const DEFAULT_ROOT_DIR = '/var/lib/nodelet';

/** Two runtimes on one machine never share a bridge. The kernel takes 15 bytes. */
export function bridgeName(rootDir: string): string {
  if (rootDir === DEFAULT_ROOT_DIR) return 'nodelet0';
  return `nl-${createHash('sha256').update(rootDir).digest('hex').slice(0, 10)}`;
}
