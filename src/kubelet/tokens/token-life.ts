/** Wall-clock milliseconds, as the API server and the verifiers of the token count them. */
export interface TokenLifetime {
  readonly expiresMs: number;
  /** When a new token is requested. */
  readonly renewMs: number;
}

const LONGEST_MS = 24 * 3_600_000;
const MAX_JITTER_SECONDS = 10;

/**
 * A token is renewed when 20 % of its lifetime is left or when it is 24 hours old, up to ten seconds earlier, so that
 * tokens issued together are not renewed together. `fraction` is random, in [0, 1).
 */
export function tokenLifetime(expiresMs: number, askedSeconds: number, nowMs: number, fraction: number): TokenLifetime {
  // The server may issue a shorter lifetime than requested. If its clock differs, the requested lifetime is the better
  // estimate.
  const lifeMs = Math.max(0, Math.min(askedSeconds * 1000, expiresMs - nowMs));
  const jitterMs = Math.floor(fraction * MAX_JITTER_SECONDS) * 1000;
  const lastFifthMs = expiresMs - lifeMs / 5;
  const dayOldMs = expiresMs - lifeMs + LONGEST_MS;
  return { expiresMs, renewMs: Math.min(lastFifthMs, dayOldMs) - jitterMs };
}
