import { ChangeSignal } from '../../base/change-signal.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { ClaimCache } from './claim-cache.ts';
import type { DraManager } from './dra-manager.ts';

/** kubelet's period. */
const PERIOD_MS = 60_000;

export interface EndedPodsDeps {
  readonly manager: Pick<DraManager, 'unprepare'>;
  readonly cache: Pick<ClaimCache, 'all'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The pods of the node. */
export interface KnownPods {
  /** Whether all sources have reported their pods. */
  readonly areSourcesReady: () => boolean;
  /** Whether the pod has a worker, or containers that run. */
  readonly isActive: (uid: string, signal: AbortSignal) => Promise<boolean>;
}

/**
 * Unprepares the claims of pods that ended while the agent was down. A pod with a worker releases its claims by itself.
 */
export class EndedPods {
  readonly #deps: EndedPodsDeps;
  readonly #changes = new ChangeSignal();

  constructor(deps: EndedPodsDeps) {
    this.#deps = deps;
  }

  /** The claims of ended pods can be unprepared sooner than planned: a driver has registered, or a source has reported. */
  retry(): void {
    this.#changes.notify();
  }

  async run(pods: KnownPods, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#check(pods, signal);
      const period = new AbortController();
      const over = AbortSignal.any([signal, period.signal]);
      const timer = this.#deps.clock.sleep(PERIOD_MS, over).then(
        () => period.abort(),
        () => undefined, // a change came first, or the agent stops
      );
      await this.#changes.next(over);
      period.abort();
      await timer;
    }
  }

  async #check({ areSourcesReady, isActive }: KnownPods, signal: AbortSignal): Promise<void> {
    const { manager, cache, log } = this.#deps;
    if (!areSourcesReady()) return;
    const uids = new Set(cache.all.flatMap(({ podUids }) => [...podUids]));
    for (const podUid of uids) {
      try {
        if (!(await isActive(podUid, signal))) await manager.unprepare(podUid, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.info('cannot unprepare the claims of an ended pod, will retry', { podUid, error });
      }
    }
  }
}
