import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';

/** Shorter outages are not reported: the runtime may restart. */
const UNHEALTHY_AFTER_MS = 5_000;

/**
 * Whether the runtime answers. Only the event stream and list calls count: a stuck pod or a container that does not
 * stop says nothing about the node.
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

  /** Calls the listener at the first failure and when the runtime answers again. Returns the unsubscribe function. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Why the runtime is unhealthy, for users; `undefined` when it is healthy. */
  unhealthyReason(): string | undefined {
    const downMs = this.downForMs();
    if (!this.#failing || downMs < UNHEALTHY_AFTER_MS) return undefined;
    return `the runtime has not answered for ${Math.floor(downMs / 1000)} s: ${this.#failing.error}`;
  }

  /** Milliseconds since the first failure; zero while the runtime answers. */
  downForMs(): number {
    return this.#failing ? this.#clock.monotonic() - this.#failing.sinceMs : 0;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
