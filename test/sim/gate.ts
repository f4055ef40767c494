import type { Clock } from '../../src/host/clock.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';

/** When a process dies at a call that it makes. */
export interface DeathAtCall {
  calls: number;
  readonly when: 'before' | 'after';
  readonly onDeath: () => void;
}

/**
 * Stands between one life of the agent and the world. Once it is shut nothing gets through any more in either
 * direction: a call has no effect and no answer, a timer never fires, a stream says nothing. What is left of the old
 * life can run on as far as it needs nobody, and then waits for ever, which is as good as dead.
 */
export class Gate {
  readonly clock: Clock;
  readonly #clock: VirtualClock;
  /** Aborts when the gate is shut: what the world does for this life alone. */
  readonly #shut = new AbortController();
  readonly #timers = new Set<() => void>();
  #sleeping = 0;
  #death: DeathAtCall | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      sleep: (ms, signal) => this.#sleep(ms, signal),
      deadline: (ms) => this.#deadline(ms),
    };
  }

  get isShut(): boolean {
    return this.#shut.signal.aborted;
  }

  /** How often the agent sleeps at the moment. */
  get sleeping(): number {
    return this.#sleeping;
  }

  get shut(): AbortSignal {
    return this.#shut.signal;
  }

  close(): void {
    this.#shut.abort(new Error('the agent was killed'));
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  dieAtCall(death: DeathAtCall): void {
    this.#death = death;
  }

  /** A call of the agent. */
  async pass<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.isShut || this.#dies('before')) return never();
    try {
      const result = await work();
      if (!this.isShut && !this.#dies('after')) return result;
    } catch (error) {
      if (!this.isShut && !this.#dies('after')) throw error;
    }
    return never();
  }

  /** A stream that the agent listens to. */
  async *follow<T>(open: () => AsyncIterable<T>): AsyncGenerator<T, undefined> {
    if (this.isShut) return never();
    try {
      for await (const item of open()) {
        if (this.isShut) return never();
        yield item;
      }
    } catch (error) {
      if (!this.isShut) throw error;
    }
    return this.isShut ? never() : undefined;
  }

  #dies(when: DeathAtCall['when']): boolean {
    if (!this.#death || this.#death.when !== when || --this.#death.calls > 0) return false;
    const { onDeath } = this.#death;
    this.#death = undefined;
    onDeath();
    return true;
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.isShut) return;
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
    if (!this.isShut) this.#start(ms, () => controller.abort(reason), { isBackground: true });
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
