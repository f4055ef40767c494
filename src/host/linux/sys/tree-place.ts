import { bytesOfFileName } from '../../file-name.ts';

/** A path for the kernel: a name that is no UTF-8 can be written only as bytes. */
export type Place = string | Buffer;

/** A name in an open folder, looked up through /proc/self/fd, as openat(2) does. */
export function placeIn(folder: number, name: string): Place {
  const bytes = bytesOfFileName(name);
  const way = `/proc/self/fd/${folder}/`;
  return typeof bytes === 'string' ? `${way}${bytes}` : Buffer.concat([Buffer.from(way), bytes]);
}

/** As C wants it. */
export function terminated(place: Place): Place {
  return typeof place === 'string' ? place : Buffer.concat([place, Buffer.of(0)]);
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
