import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';

/** How long a URL can be used; as in other runtimes. */
const TOKEN_LIFETIME_MS = 60_000;
const MAX_TOKENS = 1000;
const TOKEN_BYTES = 16;

export interface StreamingTokensDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly random: Pick<Random, 'bytes'>;
}

/** What was asked for, until somebody comes for it with the word that only the asker was told. Each can be taken once. */
export class StreamingTokenCache<T> {
  readonly #deps: StreamingTokensDeps;
  /** The oldest first. */
  readonly #waiting = new Map<string, { readonly value: T; readonly until: number }>();

  constructor(deps: StreamingTokensDeps) {
    this.#deps = deps;
  }

  /** Throws `ResourceExhausted` when too many wait. */
  issue(value: T): string {
    this.#forgetOld();
    if (this.#waiting.size >= MAX_TOKENS) {
      throw new CriError('ResourceExhausted', 'maximum number of in-flight requests exceeded');
    }
    const token = Buffer.from(this.#deps.random.bytes(TOKEN_BYTES)).toString('base64url');
    this.#waiting.set(token, { value, until: this.#deps.clock.monotonic() + TOKEN_LIFETIME_MS });
    return token;
  }

  take(token: string): T | undefined {
    this.#forgetOld();
    const found = this.#waiting.get(token);
    this.#waiting.delete(token);
    return found?.value;
  }

  #forgetOld(): void {
    const now = this.#deps.clock.monotonic();
    for (const [token, { until }] of this.#waiting) {
      if (until > now) return;
      this.#waiting.delete(token);
    }
  }
}
