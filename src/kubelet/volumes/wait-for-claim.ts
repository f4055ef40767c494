import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { VolumeResolutionError } from './volume-spec.ts';
import type { VolumeWaits } from './volume-waits.ts';

const BACKOFF = { firstMs: 100, maxMs: 2000, jitter: 0.1 };

export interface ClaimWaitDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly waits: VolumeWaits;
  /** Called with the first error, which may pass. */
  readonly onWait: (error: VolumeResolutionError) => void;
}

/**
 * Repeats the look-up of a claim until it succeeds: a node may not watch claims. Rejects at once with an error that does not
 * pass, and with the last error when the signal aborts.
 */
export async function waitForClaim<T>(
  volume: { readonly podUid: string; readonly volume: string },
  resolve: () => Promise<T>,
  { clock, random, waits, onWait }: ClaimWaitDeps,
  signal: AbortSignal,
): Promise<T> {
  const backoff = new ExponentialBackoff(BACKOFF);
  let last: VolumeResolutionError | undefined;
  const wait = async (): Promise<T> => {
    for (;;) {
      try {
        return await resolve();
      } catch (error) {
        if (signal.aborted) throw last ?? error;
        if (!(error instanceof VolumeResolutionError) || error.isFinal) throw error;
        if (!last) onWait(error);
        last = error;
      }
      await clock.sleep(backoff.next(random.fraction()), signal).catch(() => undefined);
      if (signal.aborted) throw last;
    }
  };
  return waits.during(volume, () => podCauseOf(last), wait, signal);
}
