import { errnoCode } from '../sys/errno-code.ts';

/** Settles like `result`, but resolves with `undefined` for a path that does not exist. */
export async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
