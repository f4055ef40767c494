/**
 * Kills a simulated process at one of its calls to the host: from then on its calls have no effect and never return.
 * Calls made before complete, as in a kernel.
 */
export class ProcessKiller {
  readonly died: Promise<void>;
  /** Number of calls since it was armed. */
  calls = 0;
  readonly #die: () => void;
  #isDead = false;
  #call = Number.POSITIVE_INFINITY;
  #afterCall = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.#die = resolve;
  }

  /**
   * Kills at the call of this number from now on: before it has any effect, or after it is done but before it returns.
   */
  arm(call: number, when: 'before' | 'after'): void {
    this.calls = 0;
    this.#call = call;
    this.#afterCall = when === 'after';
  }

  kill(): void {
    this.#isDead = true;
    this.#die();
  }

  /** Wraps a port for the process to be killed. */
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
    if (number === this.#call && !this.#afterCall) this.kill();
    if (this.#isDead) return never();
    const result = call();
    return result instanceof Promise ? this.#answer(result, number) : result;
  }

  async #answer(result: Promise<unknown>, number: number): Promise<unknown> {
    try {
      return await result;
    } finally {
      if (number === this.#call && this.#afterCall) this.kill();
      if (this.#isDead) await never();
    }
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
