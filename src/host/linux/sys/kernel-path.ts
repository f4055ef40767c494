import { bytesOfFileName } from '../../file-name.ts';

/** A path for the kernel: a name that is no UTF-8 can be written only as bytes. */
export type KernelPath = string | Buffer;

/** A name in an open folder, looked up through /proc/self/fd, as openat(2) does. */
export function pathInFolder(folder: number, name: string): KernelPath {
  const bytes = bytesOfFileName(name);
  const way = `/proc/self/fd/${folder}/`;
  return typeof bytes === 'string' ? `${way}${bytes}` : Buffer.concat([Buffer.from(way), bytes]);
}

/** As C wants it. */
export function terminated(place: KernelPath): KernelPath {
  return typeof place === 'string' ? place : Buffer.concat([place, Buffer.of(0)]);
}

export function parentPath(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
