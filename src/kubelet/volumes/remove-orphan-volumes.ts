import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { PodVolumes } from './pod-volumes.ts';

const RETRY = { firstMs: 1_000, maxMs: 120_000, jitter: 0.1 };

export interface OrphanVolumesDeps {
  readonly volumes: Pick<PodVolumes, 'removeOrphans' | 'orphaned'>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly log: Log;
}

/**
 * Removes what earlier processes left of volumes that no pod uses, and later what could not be unmounted after the last pod
 * of a volume. Each is repeated until it succeeds or the signal aborts: the driver of a volume registers some time after
 * the agent has started.
 */
export async function removeOrphanVolumes(deps: OrphanVolumesDeps, signal: AbortSignal): Promise<void> {
  const { volumes, clock, random, log } = deps;
  const backoff = new ExponentialBackoff(RETRY);
  while (!signal.aborted) {
    try {
      await volumes.removeOrphans(signal);
      backoff.reset();
      await volumes.orphaned(signal);
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot remove the volumes that no pod uses', { error });
      await clock.sleep(backoff.next(random.fraction()), signal).catch(() => undefined);
    }
  }
}
