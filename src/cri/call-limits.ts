import type { Clock } from '../host/clock.ts';
import { CriError } from './cri-error.ts';

export interface CallLimits {
  readonly clock: Clock;
  /** The RPC's name in the protocol. */
  readonly method: { readonly name: string };
  readonly deadlineMs: number | undefined;
}

/** Calls `cancel` when the signal aborts or the deadline passes, until the returned function is called. */
export function watchLimits(
  { clock, method, deadlineMs }: CallLimits,
  signal: AbortSignal,
  cancel: (reason: unknown) => void,
): () => void {
  const done = new AbortController();
  signal.addEventListener('abort', () => cancel(signal.reason), { once: true, signal: done.signal });
  if (deadlineMs !== undefined) {
    clock.sleep(deadlineMs, done.signal).then(
      () => cancel(new CriError('DeadlineExceeded', 'context deadline exceeded', { method: method.name })),
      () => {}, // the call ended before
    );
  }
  return () => done.abort(OVER);
}

/** Created once: capturing a stack for each call is expensive. */
const OVER = new Error('the call is over');
