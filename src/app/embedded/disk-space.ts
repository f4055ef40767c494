import { posix } from 'node:path';
import { sizeText } from '../../base/size-text.ts';
import { type FileSystem, FileSystemError, isOutOfSpace } from '../../host/file-system.ts';
import { MountError } from '../../host/mounts.ts';
import { runtimePaths } from '../../runtime/settings/runtime-paths.ts';
import { type EmbeddedRuntimeConfig, runtimeFolders } from './embedded-settings.ts';
import { StartupError } from './startup-error.ts';

/** Enough for an image like busybox, packed and unpacked, and the records and logs of a few pods. */
const ROOT_BYTES = 16 * 2 ** 20;
/** Enough for the bundles, sockets and records of a few pods. */
const STATE_BYTES = 2 * 2 ** 20;

export type DiskParts = Pick<EmbeddedRuntimeConfig, 'rootDir' | 'stateDir'> & {
  readonly fs: Pick<FileSystem, 'stat' | 'usage'>;
};

/**
 * Rejects with a `StartupError` if the disk has too little space for a first pod. Folders of a previous process are not
 * checked: its pods must be adopted and stopped, above all on a full disk.
 */
export async function checkDiskSpace(parts: DiskParts): Promise<void> {
  const { containerRecords } = runtimePaths(runtimeFolders(parts));
  if ((await parts.fs.stat(containerRecords)) !== undefined) return;
  for (const [folder, needed] of requiredSpace(parts)) {
    const free = await freeBytes(folder, parts.fs);
    if (free !== undefined && free < needed) throw new StartupError(spaceMessage(folder, free, needed));
  }
}

/** Converts an out-of-space error into a `StartupError`; returns other errors unchanged. */
export async function asStartupError(error: unknown, parts: DiskParts): Promise<unknown> {
  const isFull = (error instanceof FileSystemError || error instanceof MountError) && isOutOfSpace(error);
  if (!isFull) return error;
  const path = error instanceof FileSystemError ? error.path : error.target;
  const [folder, needed] = requiredSpace(parts).findLast(([each]) => path.startsWith(`${each}/`)) ?? [path, ROOT_BYTES];
  const free = (await freeBytes(folder, parts.fs)) ?? 0;
  return new StartupError(spaceMessage(folder, free, needed), { cause: error });
}

function requiredSpace({ rootDir, stateDir }: DiskParts): ReadonlyArray<readonly [folder: string, bytes: number]> {
  return [
    [rootDir, ROOT_BYTES],
    [stateDir, STATE_BYTES],
  ];
}

function spaceMessage(folder: string, free: number, needed: number): string {
  return `the disk of ${folder} has too little space: the runtime needs ${sizeText(needed)}, and ${sizeText(free)} are free`;
}

/** Returns `undefined` for a file system without a size. */
async function freeBytes(folder: string, fs: DiskParts['fs']): Promise<number | undefined> {
  let existing = folder;
  while ((await fs.stat(existing)) === undefined) existing = posix.dirname(existing);
  const { availableBytes, capacityBytes } = await fs.usage(existing);
  return capacityBytes === 0 ? undefined : availableBytes;
}
