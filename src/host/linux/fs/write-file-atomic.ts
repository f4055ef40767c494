import { chmod, type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** After a crash the file has either the old or the new content. One writer per path. */
export async function writeFileAtomic(path: string, data: string | Uint8Array, mode?: number): Promise<void> {
  // rename(2) works only within one filesystem. A crash leaves at most this one file, and the next write replaces it.
  const temporary = temporaryName(path);
  await rm(temporary, { force: true });
  try {
    await writeAndSync(temporary, data, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path)); // otherwise the rename may be lost
}

/** As `writeFileAtomic`, but without fsync(2). No other user may have write access to the folder. */
export async function writeFileReplacing(path: string, data: string | Uint8Array, mode?: number): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await writeFile(temporary, data, mode === undefined ? {} : { mode });
    // The umask does not affect the owner's permissions.
    if (mode !== undefined && (mode & 0o077) !== 0) await chmod(temporary, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.tmp`);
}

async function writeAndSync(path: string, data: string | Uint8Array, mode: number | undefined): Promise<void> {
  // `wx` neither follows a link nor opens a file that another process has created meanwhile.
  await using file = await open(path, 'wx', mode);
  await file.writeFile(data);
  if (mode !== undefined) await file.chmod(mode); // open(2) applies the umask
  await file.sync();
}

async function syncDirectory(path: string): Promise<void> {
  await using directory: FileHandle = await open(path, 'r');
  await directory.sync();
}
