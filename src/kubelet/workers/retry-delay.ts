import { CriError } from '../../cri/cri-error.ts';

/** kubelet's workBackOffPeriod: the delay after a failed sync, plus up to half of it. */
const REGULAR_MS = 10_000;
const JITTER = 0.5;
/** An unavailable runtime is retried after 100 ms, doubling to 5 s, as in kubelet. */
const UNAVAILABLE_MS = 100;
const UNAVAILABLE_MAX_MS = 5_000;

/**
 * Milliseconds until a failed sync is retried. `failures`: consecutive failures, this one included. `fraction`: random
 * in [0, 1).
 */
export function retryDelay(error: unknown, failures: number, fraction: number): number {
  const requested = requestedRetryDelay(error);
  if (requested !== undefined) return requested;
  if (isUnavailable(error)) {
    return Math.min(UNAVAILABLE_MS * 2 ** Math.min(failures - 1, 10), UNAVAILABLE_MAX_MS);
  }
  return regularRetryDelay(fraction);
}

export function regularRetryDelay(fraction: number): number {
  return REGULAR_MS * (1 + JITTER * fraction);
}

/** Whether the runtime did not answer. Pod errors wrap the CRI error. */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error instanceof CriError && error.code === 'Unavailable') || isUnavailable(error.cause);
}

/** Errors with `retryAfterMs` set their own delay. */
function requestedRetryDelay(error: unknown): number | undefined {
  if (!(error instanceof Error && 'retryAfterMs' in error)) return undefined;
  return typeof error.retryAfterMs === 'number' ? error.retryAfterMs : undefined;
}
