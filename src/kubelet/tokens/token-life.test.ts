import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenLifetime } from './token-life.ts';

const NOW_MS = 1_000_000_000;
const HOUR_MS = 3_600_000;

const cases: Record<string, { asked: number; lifeMs: number; fraction?: number; renewedAfterMs: number }> = {
  'renews when a fifth of the life is left': { asked: 3600, lifeMs: HOUR_MS, renewedAfterMs: 48 * 60_000 },
  'renews up to ten seconds earlier': {
    asked: 3600,
    lifeMs: HOUR_MS,
    fraction: 0.99,
    renewedAfterMs: 48 * 60_000 - 9_000,
  },
  'renews what lives for long when it is a day old': {
    asked: 48 * 3600,
    lifeMs: 48 * HOUR_MS,
    renewedAfterMs: 24 * HOUR_MS,
  },
  'reckons with what the server gave where that is less': {
    asked: 100 * 3600,
    lifeMs: 10 * HOUR_MS,
    renewedAfterMs: 8 * HOUR_MS,
  },
  'reckons with what was asked for where the server’s clock is ahead': {
    asked: 3600,
    lifeMs: 2 * HOUR_MS,
    renewedAfterMs: 2 * HOUR_MS - 12 * 60_000,
  },
  'renews at once what has expired by our clock': { asked: 3600, lifeMs: -60_000, renewedAfterMs: -60_000 },
};

for (const [name, { asked, lifeMs, fraction = 0, renewedAfterMs }] of Object.entries(cases)) {
  test(`tokenLife() ${name}`, () => {
    const expiresMs = NOW_MS + lifeMs;
    assert.deepEqual(tokenLifetime(expiresMs, asked, NOW_MS, fraction), { expiresMs, renewMs: NOW_MS + renewedAfterMs });
  });
}
