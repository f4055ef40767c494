import { posix } from 'node:path';

/** Each volume is a mount in the host's mount namespace, and another one in the container. */
export const MAX_VOLUMES = 128;
const MAX_PATH_BYTES = 4095;

/** Returns the path in the container of a volume that an image declares. */
export function volumePath(declared: string): string {
  return posix.join('/', declared).replace(/(.)\/$/, '$1');
}

/** Returns why a container cannot have these volumes, or `undefined`. */
export function invalidVolumesReason(declared: readonly string[]): string | undefined {
  if (declared.length > MAX_VOLUMES) return `image declares ${declared.length} volumes, more than ${MAX_VOLUMES}`;
  const invalid = declared.find((path) => !isVolumePath(volumePath(path)));
  if (invalid === undefined) return undefined;
  return `image declares a volume at ${JSON.stringify(invalid.slice(0, 100))}, which is not allowed`;
}

/** The root, /dev, /proc and /sys cannot be volumes. */
export function isVolumePath(path: string): boolean {
  if (['/', '/dev', '/proc', '/sys'].includes(path) || path.startsWith('/proc/')) return false;
  return !path.includes('\0') && Buffer.byteLength(path) <= MAX_PATH_BYTES;
}
