import type { Clock } from '../clock.ts';
import { eventLoopTurn } from '../linux/process/event-loop-turn.ts';

export interface VirtualClockOptions {
  /** Wall-clock time at the start. */
  readonly startMs?: number;
  /**
   * Resolves when all microtasks have run, and those that they created. Promises alone cannot detect that (a chain may always
   * be one longer), so the real event loop turns once.
   */
  readonly turn?: () => Promise<void>;
}

interface Timer {
  readonly due: number;
  /** Does not count as pending work: a deadline. */
  readonly isBackground: boolean;
  readonly fire: () => void;
}

/** 2026-01-01T00:00:00Z: arbitrary, the same in each run. */
const DEFAULT_START_MS = 1_767_225_600_000;

/**
 * A clock that moves only when a test moves it.
 * 1. The time moves only inside `advance`, `runUntil` and `runUntilIdle`, and only one of these runs at once.
 * 2. Timers fire by due time; timers with the same due time fire in order of creation.
 * 3. While a timer fires, the time is exactly its due time, however far the whole step goes.
 * 4. All microtasks run before the first timer, between any two, and after the last: code that a timer wakes runs as far as
 *    it can before the time moves on, and timers that it creates fire in order.
 * 5. A cancelled timer neither fires nor moves the time.
 * 6. The wall clock moves with the time, and by `jump`; jumps move no timer.
 */
export class VirtualClock implements Clock {
  readonly #turn: () => Promise<void>;
  readonly #startMs: number;
  #jumpedMs = 0;
  #elapsedMs = 0;
  /** By due time, then by creation. */
  readonly #timers: Timer[] = [];
  #moving: 'moving' | undefined;

  constructor({ startMs = DEFAULT_START_MS, turn = eventLoopTurn }: VirtualClockOptions = {}) {
    this.#startMs = startMs;
    this.#turn = turn;
  }

  now(): number {
    return this.#startMs + this.#jumpedMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const timer = this.#start(ms, false, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = (): void => {
        this.#cancel(timer);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  deadline(ms: number): AbortSignal {
    const controller = new AbortController();
    this.#start(ms, true, () => controller.abort(new DOMException(`deadline of ${ms} ms passed`, 'TimeoutError')));
    return controller.signal;
  }

  /** Calls `fire` after `ms` unless the returned function is called first; for scripted events. */
  schedule(ms: number, fire: () => void, { isBackground = false } = {}): () => void {
    const timer = this.#start(ms, isBackground, fire);
    return () => this.#cancel(timer);
  }

  /** The number of pending sleeps. */
  get sleeping(): number {
    return this.#timers.filter(({ isBackground }) => !isBackground).length;
  }

  /** Lets `ms` pass. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsedMs + ms;
    await this.#move(async () => {
      while (this.#nextDue() <= end) await this.#fireNext();
      this.#elapsedMs = end;
    });
  }

  /** Lets time pass until no sleep is pending; deadlines do not count. Rejects after `limitMs`. */
  async runUntilIdle(limitMs = 24 * 3600 * 1000): Promise<void> {
    const end = this.#elapsedMs + limitMs;
    await this.#move(async () => {
      while (this.sleeping > 0) {
        if (this.#nextDue() > end) throw new Error(`still ${this.sleeping} asleep after ${limitMs} ms of virtual time`);
        await this.#fireNext();
      }
    });
  }

  /** Lets time pass until `result` settles, and settles like it. Rejects when no timer is left. */
  async runUntil<T>(result: Promise<T>): Promise<T> {
    let settled: 'settled' | undefined;
    const settle = (): void => {
      settled = 'settled';
    };
    result.then(settle, settle);
    await this.#move(async () => {
      while (settled === undefined) {
        if (this.#timers.length === 0) throw new Error('no timer is left that could settle the promise');
        await this.#fireNext();
      }
    });
    return result;
  }

  /** Sets the wall clock forwards, or backwards with a negative number. */
  jump(ms: number): void {
    this.#jumpedMs += ms;
  }

  async #move(steps: () => Promise<void>): Promise<void> {
    if (this.#moving) throw new Error('the clock is already moving');
    this.#moving = 'moving';
    try {
      await this.#turn();
      await steps();
    } finally {
      this.#moving = undefined;
    }
  }

  async #fireNext(): Promise<void> {
    const timer = this.#timers.shift();
    if (timer === undefined) return;
    this.#elapsedMs = Math.max(this.#elapsedMs, timer.due);
    timer.fire();
    await this.#turn();
  }

  #nextDue(): number {
    return this.#timers[0]?.due ?? Number.POSITIVE_INFINITY;
  }

  #start(ms: number, isBackground: boolean, fire: () => void): Timer {
    const timer = { due: this.#elapsedMs + Math.max(ms, 0), isBackground, fire };
    // After all timers that are due at the same time.
    const behind = this.#timers.findLastIndex(({ due }) => due <= timer.due);
    this.#timers.splice(behind + 1, 0, timer);
    return timer;
  }

  #cancel(timer: Timer): void {
    const index = this.#timers.indexOf(timer);
    if (index !== -1) this.#timers.splice(index, 1);
  }
}
