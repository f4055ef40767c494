import { errorText } from './error-text.ts';
import { FloodGuard } from './flood-guard.ts';
import { isBrokenInvariant } from './invariant-error.ts';
import type { Log, LogFields } from './log.ts';

/** How long an error is shown after it occurred. */
const SHOWN_MS = 300_000;
/** A restarted part counts as failed until it has run this long. */
const RECOVERED_MS = 30_000;
/** A stack in the log is cut after this many characters. */
const MAX_STACK = 4_000;

export interface UnhandledErrorsOptions {
  readonly clock: { monotonic(): number };
  readonly log: Log;
  /** Called with a broken invariant; ends the process. Absent: only `untilBroken` rejects. */
  readonly onBrokenInvariant?: (error: unknown) => void;
}

/** A part that failed: waiting for its restart, or restarted and not yet trusted. */
interface FailedPart {
  readonly reason: string;
  readonly restartedMs: number | undefined;
}

/**
 * The unhandled errors of this process: those that no code expected. They do not end the process, unless an invariant is broken.
 *
 * 1. `report` never throws: it is called where no other code can handle an error.
 * 2. Every error is counted. It is logged with its stack, the same stack at most five times a minute.
 * 3. An error is shown for five minutes, a failed part until it has run for thirty seconds after its restart.
 */
export class UnhandledErrors {
  readonly #options: UnhandledErrorsOptions;
  readonly #flood: FloodGuard;
  readonly #counts = new Map<string, number>();
  readonly #restarts = new Map<string, number>();
  readonly #failed = new Map<string, FailedPart>();
  readonly #broken = Promise.withResolvers<never>();
  #last: { readonly atMs: number; readonly text: string } | undefined;

  constructor(options: UnhandledErrorsOptions) {
    this.#options = options;
    this.#flood = new FloodGuard(options.clock);
    this.#broken.promise.catch(() => {}); // callers of `untilBroken` handle it
  }

  /** The number of errors by part. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** The number of restarts by part. */
  get restarts(): ReadonlyMap<string, number> {
    return this.#restarts;
  }

  /** Records an unhandled error of a part; `fields` are logged with it. */
  report(part: string, error: unknown, fields: LogFields = {}): void {
    try {
      this.#counts.set(part, (this.#counts.get(part) ?? 0) + 1);
      this.#last = { atMs: this.#options.clock.monotonic(), text: `${part}: ${textOf(error)}` };
      this.#log(part, error, fields);
    } catch {
      // The log is what failed: the error is counted and shown.
    }
    if (!isBrokenInvariant(error)) return;
    this.#broken.reject(error);
    this.#options.onBrokenInvariant?.(error);
  }

  /** The part has failed and waits for its restart. */
  partFailed(part: string, error: unknown): void {
    this.#failed.set(part, { reason: textOf(error), restartedMs: undefined });
  }

  partRestarted(part: string): void {
    this.#restarts.set(part, (this.#restarts.get(part) ?? 0) + 1);
    const failed = this.#failed.get(part);
    if (failed) this.#failed.set(part, { ...failed, restartedMs: this.#options.clock.monotonic() });
  }

  /** The part has done its work, or is stopped. */
  partEnded(part: string): void {
    this.#failed.delete(part);
  }

  /** The failed parts with their reasons; `undefined` while all run. */
  failedParts(): string | undefined {
    const nowMs = this.#options.clock.monotonic();
    for (const [part, { restartedMs }] of this.#failed) {
      if (restartedMs !== undefined && nowMs - restartedMs >= RECOVERED_MS) this.#failed.delete(part);
    }
    const texts = [...this.#failed].map(([part, { reason }]) => `${part} has failed: ${reason}`);
    return texts.length === 0 ? undefined : texts.join('; ');
  }

  /** The last error, while it is recent. */
  recentError(): string | undefined {
    const last = this.#last;
    return last && this.#options.clock.monotonic() - last.atMs < SHOWN_MS ? last.text : undefined;
  }

  /** Rejects with the first broken invariant, and resolves when the signal aborts. */
  async untilBroken(signal: AbortSignal): Promise<void> {
    const stopped = Promise.withResolvers<void>();
    const onAbort = (): void => stopped.resolve();
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([stopped.promise, this.#broken.promise]);
  }

  #log(part: string, error: unknown, fields: LogFields): void {
    const stack = stackOf(error);
    const admitted = this.#flood.admit(framesOf(stack));
    if (!admitted) return;
    const { suppressed } = admitted;
    this.#options.log.error('unhandled error', {
      part,
      ...fields,
      error,
      stack: stack.slice(0, MAX_STACK),
      ...(suppressed > 0 && { suppressed }),
    });
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : textOf(error);
}

/** Any value can be thrown, also one that has no text. */
function textOf(error: unknown): string {
  try {
    return errorText(error);
  } catch {
    return `a value of type ${typeof error}`;
  }
}

/** The stack without its message, which may differ each time: `at Worker.run (…)` and so on. */
function framesOf(stack: string): string {
  const first = stack.search(/^ {4}at /m);
  return first === -1 ? '' : stack.slice(first);
}
