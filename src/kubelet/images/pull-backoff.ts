import type { Clock } from '../../host/clock.ts';

const INITIAL_MS = 10_000;
const MAX_MS = 300_000;

interface Failure {
  readonly delayMs: number;
  readonly atMs: number;
  readonly error: string;
}

/**
 * The back-off of image pulls per pod: 10 s, doubling to 5 minutes. It is reset after twice the longest delay without a
 * failure.
 */
export class PullBackoff {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failure>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The remaining delay and the error while the pod is in back-off; otherwise `undefined`. */
  waiting(podUid: string, image: string): { readonly remainingMs: number; readonly error: string } | undefined {
    const failure = this.#failures.get(keyOf(podUid, image));
    if (!failure || this.#isForgotten(failure)) return undefined;
    const remainingMs = failure.delayMs - this.#since(failure);
    return remainingMs > 0 ? { remainingMs, error: failure.error } : undefined;
  }

  /**
   * Returns the delay from now on. A pull that several containers of a pod wait for counts as one failure: failures
   * during the back-off do not extend it.
   */
  failed(podUid: string, image: string, error: string): number {
    const waiting = this.waiting(podUid, image);
    if (waiting) return waiting.remainingMs;
    this.#forgetOld();
    const previous = this.#failures.get(keyOf(podUid, image));
    const delayMs = previous ? Math.min(previous.delayMs * 2, MAX_MS) : INITIAL_MS;
    this.#failures.set(keyOf(podUid, image), { delayMs, atMs: this.#clock.monotonic(), error });
    return delayMs;
  }

  /** Called when the pod is removed. */
  forget(podUid: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(keyOf(podUid, ''))) this.#failures.delete(key);
  }

  #forgetOld(): void {
    for (const [key, failure] of this.#failures) if (this.#isForgotten(failure)) this.#failures.delete(key);
  }

  #isForgotten(failure: Failure): boolean {
    return this.#since(failure) > MAX_MS * 2;
  }

  #since({ atMs }: Failure): number {
    return this.#clock.monotonic() - atMs;
  }
}

function keyOf(podUid: string, image: string): string {
  return `${podUid}_${image}`;
}
