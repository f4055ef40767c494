import { errorText } from '../../base/error-text.ts';
import { goErrorList } from '../../base/go/go-error-list.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';

/** client-go's `wait.Backoff`: a number of attempts, with growing delays between them. */
export interface RetrySteps {
  readonly steps: number;
  readonly firstMs: number;
  readonly factor: number;
  /** Up to this fraction of a delay is added at random. */
  readonly jitter: number;
}

/**
 * Repeats `attempt` as client-go's `wait.ExponentialBackoff`. Rejects with its text and those of all attempts, or with the
 * signal's reason after an abort.
 */
export async function retrySteps(
  { steps, firstMs, factor, jitter }: RetrySteps,
  attempt: () => Promise<void>,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  for (let step = 0; step < steps; step++) {
    if (step > 0) await clock.sleep(firstMs * factor ** (step - 1) * (1 + jitter * random.fraction()), signal);
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }
  const causes = goErrorList(failures.map(errorText));
  throw new Error(`timed out waiting for the condition; caused by: ${causes}`, { cause: failures.at(-1) });
}
