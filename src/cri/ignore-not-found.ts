import { isNotFound } from './cri-error.ts';

/** For calls about something that may have disappeared meanwhile: `undefined` then, instead of a `NotFound`. */
export async function ignoreNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
