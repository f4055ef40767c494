import type { Clock } from '../../../host/clock.ts';
import { NetworkError } from '../../../host/network.ts';
import { RegistryError, type RegistrySession } from './registry-session.ts';
import { SilenceLimit } from './silence-limit.ts';

/** How often in a row a registry may fail to send another byte. */
const TRIES = 4;
const FIRST_PAUSE_MS = 100;
/** How long a registry may be silent before it counts as gone. */
export const SILENCE_MS = 5 * 60_000;

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
      for await (const chunk of bytesFrom(session, { digest, offset }, clock, signal)) {
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
  { digest, offset }: { readonly digest: string; readonly offset: number },
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  using silence = new SilenceLimit(clock, SILENCE_MS);
  const headers = offset === 0 ? [] : [['Range', `bytes=${offset}-`] as const];
  try {
    const response = await session.get(`blobs/${digest}`, headers, AbortSignal.any([signal, silence.over]));
    let skip = response.status === 206 ? 0 : offset;
    for await (const chunk of response.body) {
      const rest = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - rest.length;
      silence.pause(); // whoever takes the bytes may need its time
      if (rest.length > 0) yield rest;
      silence.begin();
    }
  } catch (error) {
    if (!silence.over.aborted || signal.aborted) throw error;
    throw new NetworkError('ETIMEDOUT', `nothing more of ${digest} came for ${SILENCE_MS / 60_000} minutes`, {
      cause: error,
    });
  }
}

/** Whether it may go better the next time. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RegistryError) return error.status === 429 || error.status >= 500;
  return error instanceof NetworkError && error.code !== 'ENOTFOUND';
}
