import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';

/** How long the runtime may be away before it counts: a restart of it is no trouble. */
const UNHEALTHY_AFTER_MS = 5_000;

/**
 * Whether the runtime as a whole answers. Only its stream of events and its lists count: a pod that is stuck, or a
 * container that does not stop, says nothing about the node.
 */
export class RuntimeHealth {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #failing: { readonly sinceMs: number; readonly error: string } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  recordSuccess(): void {
    const wasFailing = this.#failing !== undefined;
    this.#failing = undefined;
    if (wasFailing) this.#notify();
  }

  recordFailure(error: unknown): void {
    const wasFailing = this.#failing !== undefined;
    this.#failing = { sinceMs: this.#failing?.sinceMs ?? this.#clock.monotonic(), error: errorText(error) };
    if (!wasFailing) this.#notify();
  }

  /** Calls back at the first failure and when the runtime answers again. Returns the function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is wrong with the runtime, for a user to read; `undefined` when nothing is. */
  unhealthyReason(): string | undefined {
    const forMs = this.downForMs();
    if (!this.#failing || forMs < UNHEALTHY_AFTER_MS) return undefined;
    return `the runtime has not answered for ${Math.floor(forMs / 1000)} s: ${this.#failing.error}`;
  }

  /** Since the first failure; zero while it answers. */
  downForMs(): number {
    return this.#failing ? this.#clock.monotonic() - this.#failing.sinceMs : 0;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
