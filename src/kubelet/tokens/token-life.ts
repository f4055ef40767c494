/** Of a token; wall-clock milliseconds, as the API server and whoever checks the token count them. */
export interface TokenLifetime {
  readonly expiresMs: number;
  /** From then on a new one is asked for. */
  readonly renewMs: number;
}

const LONGEST_MS = 24 * 3_600_000;
const MAX_JITTER_SECONDS = 10;

/**
 * A token is renewed when a fifth of its life is left, or when it is a day old; up to ten seconds earlier, so that those
 * that began together do not all end together. `fraction` is the chance, in [0, 1).
 */
export function tokenLifetime(expiresMs: number, askedSeconds: number, nowMs: number, fraction: number): TokenLifetime {
  // The server may give less time than it is asked for. If its clock is another, what was asked for is the better guess.
  const lifeMs = Math.max(0, Math.min(askedSeconds * 1000, expiresMs - nowMs));
  const jitterMs = Math.floor(fraction * MAX_JITTER_SECONDS) * 1000;
  const lastFifthMs = expiresMs - lifeMs / 5;
  const dayOldMs = expiresMs - lifeMs + LONGEST_MS;
  return { expiresMs, renewMs: Math.min(lastFifthMs, dayOldMs) - jitterMs };
}
