import type { Clock } from '../../src/host/clock.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';

/** Kills a process at the n-th call that it makes. */
export interface KillAtCall {
  calls: number;
  readonly when: 'before' | 'after';
  readonly onKill: () => void;
}

/**
 * Stands between one agent process and the world. Once it is closed, nothing passes in either direction: a call has no
 * effect and no result, a timer never fires, a stream yields nothing. Code of the killed process can run on until its
 * next call, and then waits forever.
 */
export class Gate {
  readonly clock: Clock;
  readonly #clock: VirtualClock;
  /** Aborts when the gate is closed. Bounds the work that the world does for this process alone. */
  readonly #closed = new AbortController();
  readonly #timers = new Set<() => void>();
  #sleeping = 0;
  #plannedKill: KillAtCall | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      sleep: (ms, signal) => this.#sleep(ms, signal),
      deadline: (ms) => this.#deadline(ms),
    };
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** The number of the agent's pending sleeps. */
  get sleeping(): number {
    return this.#sleeping;
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  close(): void {
    this.#closed.abort(new Error('the agent was killed'));
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  killAtCall(planned: KillAtCall): void {
    this.#plannedKill = planned;
  }

  /** Runs a call of the agent. */
  async pass<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.isClosed || this.#isKilled('before')) return never();
    try {
      const result = await work();
      if (!this.isClosed && !this.#isKilled('after')) return result;
    } catch (error) {
      if (!this.isClosed && !this.#isKilled('after')) throw error;
    }
    return never();
  }

  /** Forwards a stream to the agent. */
  async *follow<T>(open: () => AsyncIterable<T>): AsyncGenerator<T, undefined> {
    if (this.isClosed) return never();
    try {
      for await (const item of open()) {
        if (this.isClosed) return never();
        yield item;
      }
    } catch (error) {
      if (!this.isClosed) throw error;
    }
    return this.isClosed ? never() : undefined;
  }

  #isKilled(when: KillAtCall['when']): boolean {
    if (!this.#plannedKill || this.#plannedKill.when !== when || --this.#plannedKill.calls > 0) return false;
    const { onKill } = this.#plannedKill;
    this.#plannedKill = undefined;
    onKill();
    return true;
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) return;
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      this.#sleeping++;
      const stop = this.#start(ms, () => {
        this.#sleeping--;
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = (): void => {
        this.#sleeping--;
        stop();
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #deadline(ms: number): AbortSignal {
    const controller = new AbortController();
    const reason = new DOMException(`deadline of ${ms} ms passed`, 'TimeoutError');
    if (!this.isClosed) this.#start(ms, () => controller.abort(reason), { isBackground: true });
    return controller.signal;
  }

  #start(ms: number, fire: () => void, options?: { readonly isBackground: boolean }): () => void {
    const cancel = this.#clock.schedule(
      ms,
      () => {
        this.#timers.delete(cancel);
        fire();
      },
      options,
    );
    this.#timers.add(cancel);
    return () => {
      this.#timers.delete(cancel);
      cancel();
    };
  }
}

export function never(): Promise<never> {
  return new Promise(() => {});
}
