import { chmod, type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** After a crash a reader finds the old bytes or the new, never a mix. One writer per path. */
export async function writeFileAtomic(path: string, data: string | Uint8Array, mode?: number): Promise<void> {
  // rename(2) is atomic only within one file system. A crash leaves at most this one name, and the next write takes it.
  const temporary = temporaryName(path);
  await rm(temporary, { force: true });
  try {
    await writeAndSync(temporary, data, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path)); // else the new name itself may be lost
}

/** As `writeFileAtomic`, but the disk is not waited for. The folder must be one into which nobody else writes. */
export async function writeFileReplacing(path: string, data: string | Uint8Array, mode?: number): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await writeFile(temporary, data, mode === undefined ? {} : { mode });
    // The umask takes nothing from the owner that anybody would ask for.
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
  // `wx` neither follows a link nor opens what somebody else put there meanwhile.
  await using file = await open(path, 'wx', mode);
  await file.writeFile(data);
  if (mode !== undefined) await file.chmod(mode); // open(2) takes the umask off
  await file.sync();
}

async function syncDirectory(path: string): Promise<void> {
  await using directory: FileHandle = await open(path, 'r');
  await directory.sync();
}
