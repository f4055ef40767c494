import { posix } from 'node:path';

/** Each is a mount in the mount namespace of the machine, and another one in the container. */
export const MOST_VOLUMES = 128;
const MOST_PATH_BYTES = 4095;

/** A path that an image declares as a volume, as containers see it. */
export function volumePath(declared: string): string {
  return posix.join('/', declared).replace(/(.)\/$/, '$1');
}

/** Why a container cannot have these volumes; `undefined`: it can. */
export function volumesFault(declared: readonly string[]): string | undefined {
  if (declared.length > MOST_VOLUMES) return `image declares ${declared.length} volumes, more than ${MOST_VOLUMES}`;
  const wrong = declared.find((path) => !isVolumePath(volumePath(path)));
  if (wrong === undefined) return undefined;
  return `image declares a volume at ${JSON.stringify(wrong.slice(0, 100))}, where there cannot be one`;
}

/** The root itself, and what the kernel shows of itself, are no places for a folder of the image. */
export function isVolumePath(path: string): boolean {
  if (['/', '/dev', '/proc', '/sys'].includes(path) || path.startsWith('/proc/')) return false;
  return !path.includes('\0') && Buffer.byteLength(path) <= MOST_PATH_BYTES;
}
