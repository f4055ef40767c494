import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';

/** kubelet's time for a driver to come back before its slices are removed. */
const WIPING_DELAY_MS = 30_000;
const RETRY = { firstMs: 1_000, maxMs: 300_000, jitter: 0.2 };

export interface ResourceSliceDeps {
  readonly api: Pick<ApiServer, 'deleteCollection'>;
  readonly nodeName: string;
  /** Whether the API server has the node: only then may the node delete its slices. */
  readonly hasNode: () => boolean;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly log: Log;
}

/**
 * Removes the ResourceSlices of drivers that cannot be used, so that no pod is scheduled to this node for their devices:
 * those of all drivers when the agent starts, since none has registered yet, and those of a driver that was not connected
 * for 30 seconds. Drivers publish them again.
 */
export class ResourceSliceCleanup {
  readonly #deps: ResourceSliceDeps;
  readonly #life: AbortSignal;
  /** The clean-ups that wait or are in progress, by driver. */
  readonly #pending = new Map<string, AbortController>();

  constructor(deps: ResourceSliceDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  /** At the start of the agent: the slices of all drivers. */
  async wipeAll(signal: AbortSignal): Promise<void> {
    await this.#wipe(undefined, signal);
  }

  /** A driver that can be used again keeps its slices; the delay of one that cannot is not extended. */
  setUsable(driver: string, isUsable: boolean): void {
    if (isUsable) {
      this.#pending.get(driver)?.abort(new Error('the driver is connected'));
      this.#pending.delete(driver);
    } else if (!this.#pending.has(driver) && !this.#life.aborted) {
      const over = new AbortController();
      this.#pending.set(driver, over);
      void this.#wipeLater(driver, over);
    }
  }

  async #wipeLater(driver: string, over: AbortController): Promise<void> {
    const signal = AbortSignal.any([this.#life, over.signal]);
    try {
      await this.#deps.clock.sleep(WIPING_DELAY_MS, signal);
      await this.#wipe(driver, signal);
    } catch (error) {
      if (!signal.aborted) this.#deps.log.error('cannot remove the ResourceSlices of a driver', { driver, error });
    } finally {
      if (this.#pending.get(driver) === over) this.#pending.delete(driver);
    }
  }

  /** Repeats until it succeeds or the signal aborts. */
  async #wipe(driver: string | undefined, signal: AbortSignal): Promise<void> {
    const { api, nodeName, hasNode, clock, random, log } = this.#deps;
    const ofNode = `spec.nodeName=${nodeName}`;
    const fieldSelector = driver === undefined ? ofNode : `spec.driver=${driver},${ofNode}`;
    const backoff = new ExponentialBackoff(RETRY);
    while (!signal.aborted) {
      try {
        if (hasNode()) {
          await api.deleteCollection({ resource: 'resourceslices', fieldSelector }, signal);
          return log.debug('deleted ResourceSlices', { fieldSelector });
        }
      } catch (error) {
        if (signal.aborted || isApiError(error, 'NotFound')) return; // not served: there are none
        log.debug('cannot delete ResourceSlices, retrying', { fieldSelector, error });
      }
      await clock.sleep(backoff.next(random.fraction()), signal).catch(() => undefined);
    }
  }
}
