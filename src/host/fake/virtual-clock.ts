import type { Clock } from '../clock.ts';
import { eventLoopTurn } from '../linux/process/event-loop-turn.ts';

export interface VirtualClockOptions {
  /** Wall-clock time at the start. */
  readonly startMs?: number;
  /**
   * Resolves when all microtasks have run, and those that they made. Promises alone cannot tell (a chain may always be
   * one longer), so the event loop has to turn once; nothing else about it is real.
   */
  readonly turn?: () => Promise<void>;
}

interface Timer {
  readonly due: number;
  /** One that does not count as work still to come: a deadline. */
  readonly isBackground: boolean;
  readonly fire: () => void;
}

/** 2026-01-01T00:00:00Z: as good as any, and the same in each run. */
const DEFAULT_START_MS = 1_767_225_600_000;

/**
 * Time that moves only when a test says so.
 * 1. Time stands still except inside `advance`, `runUntil` and `runUntilIdle`, and only one of these runs at once.
 * 2. Timers fire in the order in which they are due; those due together in the order in which they were made.
 * 3. While a timer fires, the time is exactly when it was due, however far the whole step goes.
 * 4. All microtasks run before the first timer, between any two, and after the last: whoever a timer woke has gone as
 *    far as it can before the time moves on, and a timer that it made takes its place in the order.
 * 5. A cancelled timer neither fires nor moves the time.
 * 6. The wall clock moves with the time, and by `jump`; jumps move no timer.
 */
export class VirtualClock implements Clock {
  readonly #turn: () => Promise<void>;
  readonly #startMs: number;
  #jumpedMs = 0;
  #elapsedMs = 0;
  /** By due time, those due together by age. */
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

  /** Calls `fire` after `ms` unless the returned function is called first; what a script of the world is made of. */
  schedule(ms: number, fire: () => void, { isBackground = false } = {}): () => void {
    const timer = this.#start(ms, isBackground, fire);
    return () => this.#cancel(timer);
  }

  /** How many sleeps are under way. */
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

  /** Lets time pass until nobody sleeps any more; deadlines are not waited for. Rejects after `limitMs`. */
  async runUntilIdle(limitMs = 24 * 3600 * 1000): Promise<void> {
    const end = this.#elapsedMs + limitMs;
    await this.#move(async () => {
      while (this.sleeping > 0) {
        if (this.#nextDue() > end) throw new Error(`still ${this.sleeping} asleep after ${limitMs} ms of virtual time`);
        await this.#fireNext();
      }
    });
  }

  /** Lets time pass until `result` settles, and settles like it. Rejects when no timer is left that could help. */
  async runUntil<T>(result: Promise<T>): Promise<T> {
    let settled: 'settled' | undefined;
    const settle = (): void => {
      settled = 'settled';
    };
    result.then(settle, settle);
    await this.#move(async () => {
      while (settled === undefined) {
        if (this.#timers.length === 0) throw new Error('nothing is left that could settle what is waited for');
        await this.#fireNext();
      }
    });
    return result;
  }

  /** The wall clock is set: forwards, or backwards with a negative number. */
  jump(ms: number): void {
    this.#jumpedMs += ms;
  }

  async #move(steps: () => Promise<void>): Promise<void> {
    if (this.#moving) throw new Error('the time is being moved already');
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
    // It is the youngest: behind all that are due by then.
    const behind = this.#timers.findLastIndex(({ due }) => due <= timer.due);
    this.#timers.splice(behind + 1, 0, timer);
    return timer;
  }

  #cancel(timer: Timer): void {
    const index = this.#timers.indexOf(timer);
    if (index !== -1) this.#timers.splice(index, 1);
  }
}
