import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

const LOOK_AGAIN_MS = 20;
/** The longest wait of a test, for the busiest machine. */
const PATIENCE_MS = 180_000;

/**
 * Polls until `look` returns a value, and returns it. Undefined, `false` and an empty string count as no value, and
 * so does an error.
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

/** Polls until the value equals `wanted`, or fails with the difference. */
export async function becomes<T>(look: () => T | Promise<T>, wanted: T): Promise<void> {
  await until(async () => isDeepStrictEqual(await look(), wanted)).catch(async () =>
    assert.deepEqual(await look(), wanted),
  );
}
