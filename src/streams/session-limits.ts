/** What a session counts for: a pod, or a client. */
export interface SessionScope {
  /** Names it in the error: `pod default/web`. */
  readonly name: string;
  /** How many sessions it may have at the same time. */
  readonly max: number;
}

/** A scope has as many sessions as it may have. */
export class SessionLimitError extends Error {
  override readonly name = 'SessionLimitError';

  constructor({ name, max }: SessionScope) {
    super(`maximum number of streaming sessions of ${name} exceeded: ${max}`);
  }
}

/** Counts the open sessions of exec, attach and port-forward. */
export class SessionLimits {
  readonly #open = new Map<string, number>();

  /** Counts a session in each scope until it is disposed of. Throws a `SessionLimitError` if one of the scopes is full. */
  open(scopes: readonly SessionScope[]): Disposable {
    const full = scopes.find(({ name, max }) => this.count(name) >= max);
    if (full !== undefined) throw new SessionLimitError(full);
    for (const { name } of scopes) this.#add(name, 1);
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (isOpen) for (const { name } of scopes) this.#add(name, -1);
        isOpen = false;
      },
    };
  }

  count(name: string): number {
    return this.#open.get(name) ?? 0;
  }

  #add(name: string, change: 1 | -1): void {
    const count = this.count(name) + change;
    if (count === 0) this.#open.delete(name);
    else this.#open.set(name, count);
  }
}
