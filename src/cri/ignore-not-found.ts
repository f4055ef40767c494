import { isNotFound } from './cri-error.ts';

/** Resolves with `undefined` instead of rejecting with `NotFound`, for objects that may have been removed. */
export async function ignoreNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
