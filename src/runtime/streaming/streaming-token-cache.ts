import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';

/** Lifetime of a URL, as in other runtimes. */
const TOKEN_LIFETIME_MS = 60_000;
const MAX_TOKENS = 1000;
const TOKEN_BYTES = 16;

export interface StreamingTokensDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly random: Pick<Random, 'bytes'>;
}

/** Requested sessions by their secret token. Each can be taken once. */
export class StreamingTokenCache<T> {
  readonly #deps: StreamingTokensDeps;
  readonly #onExpired: (value: T) => void;
  /** Oldest first. */
  readonly #sessions = new Map<string, { readonly value: T; readonly expiresAt: number }>();

  /** `onExpired` is called for each value that was not taken in time. */
  constructor(deps: StreamingTokensDeps, onExpired: (value: T) => void = () => {}) {
    this.#deps = deps;
    this.#onExpired = onExpired;
  }

  /** Throws `ResourceExhausted` if too many tokens are outstanding. */
  issue(value: T): string {
    this.evictExpired();
    if (this.#sessions.size >= MAX_TOKENS) {
      throw new CriError('ResourceExhausted', 'maximum number of in-flight requests exceeded');
    }
    const token = Buffer.from(this.#deps.random.bytes(TOKEN_BYTES)).toString('base64url');
    this.#sessions.set(token, { value, expiresAt: this.#deps.clock.monotonic() + TOKEN_LIFETIME_MS });
    return token;
  }

  take(token: string): T | undefined {
    this.evictExpired();
    const found = this.#sessions.get(token);
    this.#sessions.delete(token);
    return found?.value;
  }

  evictExpired(): void {
    const now = this.#deps.clock.monotonic();
    for (const [token, { value, expiresAt }] of this.#sessions) {
      if (expiresAt > now) return;
      this.#sessions.delete(token);
      this.#onExpired(value);
    }
  }
}
