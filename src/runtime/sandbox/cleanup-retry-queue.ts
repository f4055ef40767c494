import { ChangeSignal } from '../../base/change-signal.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import { mapInBatches } from '../../base/map-in-batches.ts';
import type { SandboxDeps } from './sandbox-deps.ts';

const BACKOFF = { firstMs: 1000, maxMs: 300_000, jitter: 0.2 };
const ATTEMPT_TIMEOUT_MS = 120_000;
/** A hanging network plugin blocks one of these slots. */
const MAX_CONCURRENT = 8;

type Cleanup = (signal: AbortSignal) => Promise<void>;

/**
 * Failed cleanups of sandboxes, retried with back-off until they succeed: a requested stop, an undo of a failed create, an
 * exit of a pause process that could not be recorded. No client may ever ask for them again.
 */
export class CleanupRetryQueue {
  readonly #deps: Pick<SandboxDeps, 'clock' | 'random' | 'log'>;
  readonly #pending = new Map<string, Cleanup>();
  readonly #bell = new ChangeSignal();

  constructor(deps: Pick<SandboxDeps, 'clock' | 'random' | 'log'>) {
    this.#deps = deps;
  }

  /** `cleanup` determines itself what is left to do when it runs. It replaces an earlier cleanup of the same key. */
  add(key: string, cleanup: Cleanup): void {
    this.#pending.set(key, cleanup);
    this.#bell.notify();
  }

  /** Runs until the signal aborts. Cleanups that are running then are left to recovery of the next process. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const pause = new ExponentialBackoff(BACKOFF);
    if (this.#pending.size > 0) this.#bell.notify(); // left by a failed run
    while (await this.#bell.next(signal)) {
      try {
        await clock.sleep(pause.next(random.fraction()), signal);
      } catch {
        return;
      }
      if (await this.#tryAll(signal)) pause.reset();
      else this.#bell.notify();
    }
  }

  async #tryAll(signal: AbortSignal): Promise<boolean> {
    await mapInBatches([...this.#pending], MAX_CONCURRENT, ([key, cleanup]) => this.#try(key, cleanup, signal));
    return this.#pending.size === 0;
  }

  async #try(key: string, cleanup: Cleanup, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    if (signal.aborted) return;
    try {
      await cleanup(AbortSignal.any([signal, clock.deadline(ATTEMPT_TIMEOUT_MS)]));
      if (this.#pending.get(key) === cleanup) this.#pending.delete(key);
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot clean up sandbox, will retry', { sandboxId: key, error });
    }
  }
}
