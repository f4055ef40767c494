/**
 * The wish that the program ends, and how urgent it has become.
 * 1. `asked` comes first, then `insisted`, then `abandoned`; each stays once it has come.
 * 2. `podsGone` resolves whoever waits for the end of the pods.
 */
export class Ending {
  readonly #asked = new AbortController();
  readonly #insisted = new AbortController();
  readonly #abandoned = new AbortController();
  readonly #podsGone = Promise.withResolvers<void>();
  #graceSeconds: number | undefined;

  /** Pods are to end within their grace period. */
  get asked(): AbortSignal {
    return this.#asked.signal;
  }

  /** Pods are to end at once. */
  get insisted(): AbortSignal {
    return this.#insisted.signal;
  }

  /** The process is to end, whatever it leaves behind. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  /** Not more time than this for any pod. */
  get graceSeconds(): number | undefined {
    return this.#graceSeconds;
  }

  /** Somebody pressed Ctrl-C, or told the process to end: each time more urgent. */
  interrupt(): void {
    if (this.insisted.aborted) this.#abandoned.abort();
    else if (this.asked.aborted) this.#insisted.abort();
    else this.#asked.abort();
  }

  /** Resolves when the pods are gone. */
  ask(graceSeconds?: number): Promise<void> {
    if (graceSeconds !== undefined) this.#graceSeconds = Math.min(graceSeconds, this.#graceSeconds ?? graceSeconds);
    this.#asked.abort();
    return this.#podsGone.promise;
  }

  tellPodsGone(): void {
    this.#podsGone.resolve();
  }
}
