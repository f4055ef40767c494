import { ExponentialBackoff } from './exponential-backoff.ts';
import { isBrokenInvariant } from './invariant-error.ts';
import type { UnhandledErrors } from './unhandled-errors.ts';

/** The delay before a restart: one second, doubled up to a minute. */
const BACKOFF = { firstMs: 1_000, maxMs: 60_000, jitter: 0 };
/** After a run of this length the next failure counts as the first. */
const RESET_MS = 120_000;

/** A part of the process that runs until it is stopped: a server, a watcher, a loop. */
export interface Part {
  /** As log, metrics and `/healthz` show it: `pleg`. */
  readonly name: string;
  /**
   * Runs until the signal aborts. After a rejection it is called again with a new signal; the signal of the failed run has
   * aborted by then. What the part must not forget is kept outside the call.
   */
  run(signal: AbortSignal): Promise<unknown>;
  /** A return before the signal aborts is a failure. Absent: the part may have finished, or nothing to do. */
  readonly isEndless?: boolean;
  /** Whether the error is one that a restart cannot fix and the operator must: it is passed on. Absent: none is. */
  isFatal?(error: unknown): boolean;
}

export interface SupervisorDeps {
  readonly clock: { monotonic(): number; sleep(ms: number, signal: AbortSignal): Promise<void> };
  readonly unhandled: UnhandledErrors;
}

/**
 * Runs a part and restarts it with back-off when it fails.
 *
 * 1. One run at a time.
 * 2. Each failure is an unhandled error of the part; the part is shown as failed until it runs again.
 * 3. Resolves when the signal aborts or the part has finished. Rejects only with a fatal error or a broken invariant.
 */
export async function supervise(part: Part, { clock, unhandled }: SupervisorDeps, signal: AbortSignal): Promise<void> {
  const { name } = part;
  const backoff = new ExponentialBackoff(BACKOFF);
  for (let isRestart = false; !signal.aborted; isRestart = true) {
    if (isRestart) unhandled.partRestarted(name);
    const startMs = clock.monotonic();
    const failure = await runOnce(part, signal);
    if (failure === undefined) break;
    const { error } = failure;
    if (part.isFatal?.(error)) throw error;
    unhandled.report(name, error);
    if (isBrokenInvariant(error)) throw error;
    unhandled.partFailed(name, error);
    if (clock.monotonic() - startMs >= RESET_MS) backoff.reset();
    await clock.sleep(backoff.next(0), signal).catch(() => undefined);
  }
  unhandled.partEnded(name);
}

/** Returns the failure; `undefined` when the part has finished or is stopped. */
async function runOnce(part: Part, signal: AbortSignal): Promise<{ readonly error: unknown } | undefined> {
  const over = new AbortController();
  try {
    await part.run(AbortSignal.any([signal, over.signal]));
    if (signal.aborted || !part.isEndless) return undefined;
    return { error: new Error(`${part.name} ended by itself`) };
  } catch (error) {
    return signal.aborted && !isBrokenInvariant(error) ? undefined : { error };
  } finally {
    over.abort(new Error(`${part.name} has ended`)); // stops what a failed run has left
  }
}
