import type { Clock } from '../host/clock.ts';
import { CriError } from './cri-error.ts';

export interface CallLimits {
  readonly clock: Clock;
  /** The rpc as the protocol spells it. */
  readonly method: { readonly name: string };
  readonly deadlineMs: number | undefined;
}

/** Calls `giveUp` when the signal aborts and when the deadline passes, until the returned function is called. */
export function watchLimits(
  { clock, method, deadlineMs }: CallLimits,
  signal: AbortSignal,
  giveUp: (reason: unknown) => void,
): () => void {
  const done = new AbortController();
  signal.addEventListener('abort', () => giveUp(signal.reason), { once: true, signal: done.signal });
  if (deadlineMs !== undefined) {
    clock.sleep(deadlineMs, done.signal).then(
      () => giveUp(new CriError('DeadlineExceeded', 'context deadline exceeded', { method: method.name })),
      () => {}, // the call was over first
    );
  }
  return () => done.abort(OVER);
}

/** Made once: a stack for each call would cost more than its message. */
const OVER = new Error('the call is over');
