import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

const LOOK_AGAIN_MS = 20;
/** What has not happened by then on the busiest machine does not happen. */
const PATIENCE_MS = 180_000;

/**
 * Looks again and again until there is something to see, and gives that. Nothing, `false` and an empty text are not it,
 * and a look that fails has seen nothing.
 */
export async function until<T>(look: () => T | Promise<T>): Promise<Exclude<T, undefined | false | ''>> {
  let cause: unknown;
  for (const limit = AbortSignal.timeout(PATIENCE_MS); !limit.aborted; await delay(LOOK_AGAIN_MS)) {
    try {
      const found = await look();
      if (isSeen(found)) return found;
    } catch (error) {
      cause = error;
    }
  }
  throw new Error(`it did not happen within ${PATIENCE_MS / 1000} s`, { cause });
}

function isSeen<T>(found: T): found is Exclude<T, undefined | false | ''> {
  return found !== undefined && found !== false && found !== '';
}

/** Looks until it is so, or fails with the difference. */
export async function becomes<T>(look: () => T | Promise<T>, wanted: T): Promise<void> {
  await until(async () => isDeepStrictEqual(await look(), wanted)).catch(async () =>
    assert.deepEqual(await look(), wanted),
  );
}
