/**
 * The death of a process at one of its calls to the machine: from then on none of its calls does anything, and none is
 * answered any more. What was asked before is done, as a kernel would.
 */
export class Doom {
  readonly died: Promise<void>;
  /** Since it was armed. */
  calls = 0;
  readonly #die: () => void;
  #isDead = false;
  #call = Number.POSITIVE_INFINITY;
  #answered = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.#die = resolve;
  }

  /** At the call of this number from now on: before it does anything, or once it is done and nobody has heard of it. */
  arm(call: number, when: 'before' | 'after'): void {
    this.calls = 0;
    this.#call = call;
    this.#answered = when === 'after';
  }

  kill(): void {
    this.#isDead = true;
    this.#die();
  }

  /** The same for the process that is doomed. */
  guard<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, key) => {
        const found: unknown = Reflect.get(target, key);
        if (typeof found !== 'function') return found;
        return (...args: unknown[]): unknown => this.#called(() => Reflect.apply(found, target, args));
      },
    });
  }

  #called(call: () => unknown): unknown {
    const number = ++this.calls;
    if (number === this.#call && !this.#answered) this.kill();
    if (this.#isDead) return never();
    const result = call();
    return result instanceof Promise ? this.#heard(result, number) : result;
  }

  async #heard(result: Promise<unknown>, number: number): Promise<unknown> {
    try {
      return await result;
    } finally {
      if (number === this.#call && this.#answered) this.kill();
      if (this.#isDead) await never();
    }
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
