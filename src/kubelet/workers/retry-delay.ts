import { CriError } from '../../cri/cri-error.ts';

/** kubelet's workBackOffPeriod: a failed pass waits so long, and up to half as long again. */
const REGULAR_MS = 10_000;
const JITTER = 0.5;
/** A runtime that is away is asked again after 100 ms, doubling to 5 s, as kubelet does. */
const UNAVAILABLE_MS = 100;
const UNAVAILABLE_MAX_MS = 5_000;

/**
 * How long to wait before a pass that failed is tried again.
 * `failures` counts those in a row, this one included; `fraction` is random in [0, 1).
 */
export function retryDelay(error: unknown, failures: number, fraction: number): number {
  const asked = requestedRetryDelay(error);
  if (asked !== undefined) return asked;
  if (isUnavailable(error)) {
    return Math.min(UNAVAILABLE_MS * 2 ** Math.min(failures - 1, 10), UNAVAILABLE_MAX_MS);
  }
  return regularRetryDelay(fraction);
}

export function regularRetryDelay(fraction: number): number {
  return REGULAR_MS * (1 + JITTER * fraction);
}

/** The runtime did not answer at all; what users are told of it wraps that. */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error instanceof CriError && error.code === 'Unavailable') || isUnavailable(error.cause);
}

/** A failure may know by itself when another try is worth it. */
function requestedRetryDelay(error: unknown): number | undefined {
  if (!(error instanceof Error && 'retryAfterMs' in error)) return undefined;
  return typeof error.retryAfterMs === 'number' ? error.retryAfterMs : undefined;
}
