import type { Clock } from '../../../host/clock.ts';
import { NetworkError } from '../../../host/network.ts';
import { RegistryError, type RegistrySession } from './registry-session.ts';

/** How often in a row a registry may fail to send another byte. */
const TRIES = 4;
const FIRST_PAUSE_MS = 100;

/**
 * The bytes of a blob. A connection that breaks is taken up where it broke; a registry that cannot begin in the middle
 * sends the beginning again, which is skipped. What comes is not checked: whoever takes it in does that.
 */
export async function* blobBytes(
  session: RegistrySession,
  digest: string,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  let offset = 0;
  for (let failures = 0; ; failures++) {
    const before = offset;
    try {
      for await (const chunk of bytesFrom(session, digest, offset, signal)) {
        offset += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (offset > before) failures = 0;
      if (failures + 1 >= TRIES || !isPassing(error)) throw error;
    }
    await clock.sleep(FIRST_PAUSE_MS * 2 ** failures, signal);
  }
}

async function* bytesFrom(
  session: RegistrySession,
  digest: string,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const headers = offset === 0 ? [] : [['Range', `bytes=${offset}-`] as const];
  const response = await session.get(`blobs/${digest}`, headers, signal);
  let skip = response.status === 206 ? 0 : offset;
  for await (const chunk of response.body) {
    const rest = chunk.subarray(Math.min(skip, chunk.length));
    skip -= chunk.length - rest.length;
    if (rest.length > 0) yield rest;
  }
}

/** Whether it may go better the next time. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RegistryError) return error.status === 429 || error.status >= 500;
  return error instanceof NetworkError && error.code !== 'ENOTFOUND';
}
