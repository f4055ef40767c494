import { ChangeSignal } from '../../base/change-signal.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import { mapInBatches } from '../../base/map-in-batches.ts';
import type { SandboxDeps } from './sandbox-deps.ts';

const BACKOFF = { firstMs: 1000, maxMs: 300_000, jitter: 0.2 };
const ATTEMPT_TIMEOUT_MS = 120_000;
/** One whose network plugin hangs holds up few others. */
const MAX_CONCURRENT = 8;

type Cleanup = (signal: AbortSignal) => Promise<void>;

/**
 * What could not be done about a sandbox, and of which nobody may ever speak again: its stop was asked for, its making has
 * failed, the end of its process could not be recorded. It is tried again after growing pauses until it works.
 */
export class CleanupRetryQueue {
  readonly #deps: Pick<SandboxDeps, 'clock' | 'random' | 'log'>;
  readonly #waiting = new Map<string, Cleanup>();
  readonly #bell = new ChangeSignal();

  constructor(deps: Pick<SandboxDeps, 'clock' | 'random' | 'log'>) {
    this.#deps = deps;
  }

  /** `finish` looks for itself what is left to do by then, and takes the place of an earlier one of this key. */
  add(key: string, finish: Cleanup): void {
    this.#waiting.set(key, finish);
    this.#bell.notify();
  }

  /** Until the signal aborts; what is being tried then is left to the next life. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const pause = new ExponentialBackoff(BACKOFF);
    const onAbort = (): void => this.#bell.close();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    while (await this.#bell.next()) {
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
    await mapInBatches([...this.#waiting], MAX_CONCURRENT, ([key, finish]) => this.#try(key, finish, signal));
    return this.#waiting.size === 0;
  }

  async #try(key: string, finish: Cleanup, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    if (signal.aborted) return;
    try {
      await finish(AbortSignal.any([signal, clock.deadline(ATTEMPT_TIMEOUT_MS)]));
      if (this.#waiting.get(key) === finish) this.#waiting.delete(key);
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot finish with a sandbox; trying again later', { sandboxId: key, error });
    }
  }
}
