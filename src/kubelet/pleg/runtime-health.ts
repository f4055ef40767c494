import { textOf } from '../../base/text-of.ts';
import type { Clock } from '../../host/clock.ts';

/** How long the runtime may be away before it counts: a restart of it is no trouble. */
const PATIENCE_MS = 5_000;

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

  answered(): void {
    const wasFailing = this.#failing !== undefined;
    this.#failing = undefined;
    if (wasFailing) this.#turned();
  }

  failed(error: unknown): void {
    const wasFailing = this.#failing !== undefined;
    this.#failing = { sinceMs: this.#failing?.sinceMs ?? this.#clock.monotonic(), error: textOf(error) };
    if (!wasFailing) this.#turned();
  }

  /** Calls back at the first failure and when the runtime answers again. Returns the function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is wrong with the runtime, for a user to read; `undefined` when nothing is. */
  trouble(): string | undefined {
    const forMs = this.awayForMs();
    if (!this.#failing || forMs < PATIENCE_MS) return undefined;
    return `the runtime has not answered for ${Math.floor(forMs / 1000)} s: ${this.#failing.error}`;
  }

  /** Since the first failure; zero while it answers. */
  awayForMs(): number {
    return this.#failing ? this.#clock.monotonic() - this.#failing.sinceMs : 0;
  }

  #turned(): void {
    for (const listener of this.#listeners) listener();
  }
}
