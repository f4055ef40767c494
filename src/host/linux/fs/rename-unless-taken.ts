import { lstat, rename } from 'node:fs/promises';
import { errnoCode } from '../sys/errno-code.ts';
import { unlessMissing } from './unless-missing.ts';

/** `false`: `to` exists. */
export async function renameUnlessTaken(from: string, to: string): Promise<boolean> {
  // Loading the foreign function interface takes time, and many commands never need it.
  const { renameNoReplace } = await import('../sys/file-calls.ts');
  try {
    await renameNoReplace(from, to);
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EEXIST') return false;
    if (errnoCode(error) !== 'EINVAL') throw error;
  }
  // The filesystem does not support `RENAME_NOREPLACE`.
  if ((await unlessMissing(lstat(to))) !== undefined) return false;
  await rename(from, to);
  return true;
}
