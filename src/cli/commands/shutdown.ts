/**
 * The requested end of the program and its urgency.
 * 1. `requested` comes first, then `urgent`, then `abandoned`; none is ever taken back.
 * 2. `notifyPodsGone` resolves every `request`.
 */
export class Shutdown {
  readonly #requested = new AbortController();
  readonly #urgent = new AbortController();
  readonly #abandoned = new AbortController();
  readonly #podsGone = Promise.withResolvers<void>();
  #graceSeconds: number | undefined;

  /** Pods stop within their grace period. */
  get requested(): AbortSignal {
    return this.#requested.signal;
  }

  /** Pods are killed at once. */
  get urgent(): AbortSignal {
    return this.#urgent.signal;
  }

  /** The process exits, whatever it leaves behind. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  /** An upper bound for the grace period of every pod. */
  get graceSeconds(): number | undefined {
    return this.#graceSeconds;
  }

  /** Called for each SIGINT or SIGTERM: each one is more urgent. */
  interrupt(): void {
    if (this.urgent.aborted) this.#abandoned.abort();
    else if (this.requested.aborted) this.#urgent.abort();
    else this.#requested.abort();
  }

  /** Resolves when the pods are gone. */
  request(graceSeconds?: number): Promise<void> {
    if (graceSeconds !== undefined) this.#graceSeconds = Math.min(graceSeconds, this.#graceSeconds ?? graceSeconds);
    this.#requested.abort();
    return this.#podsGone.promise;
  }

  notifyPodsGone(): void {
    this.#podsGone.resolve();
  }
}
