import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DurationWindow } from './duration-window.ts';

const MINUTE = 60_000;

function windowOf(durations: readonly number[], atMs = 0): DurationWindow {
  const window = new DurationWindow();
  for (const each of durations) window.add(each, atMs);
  return window;
}

const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

const cases: Record<string, { durations: readonly number[]; quantiles: readonly [number, number, number] }> = {
  'one duration': { durations: [80], quantiles: [80, 80, 80] },
  'a hundred different ones': { durations: hundred, quantiles: [50, 90, 99] },
  'one slow among many': { durations: [...new Array<number>(99).fill(20), 5000], quantiles: [20, 20, 20] },
  'every tenth is slow': {
    durations: hundred.map((each) => (each % 10 === 0 ? 2000 : 10)),
    quantiles: [10, 10, 2000],
  },
  'less than a tenth of a millisecond': { durations: [0, 0.01], quantiles: [0.01, 0.01, 0.01] },
  'longer than the last cell': { durations: [86_400_000], quantiles: [6_300_000, 6_300_000, 6_300_000] },
};
for (const [name, { durations, quantiles }] of Object.entries(cases)) {
  test(`DurationWindow summarizes ${name}`, () => {
    const { count, p50Ms, p90Ms, p99Ms, maxMs } = windowOf(durations).summary(0) ?? assert.fail();
    assert.deepEqual([count, maxMs], [durations.length, Math.max(...durations)]);
    for (const [at, found] of [p50Ms, p90Ms, p99Ms].entries()) {
      const expected = quantiles[at] ?? 0;
      assert.ok(Math.abs(found - expected) <= expected * 0.11, `${found} is not about ${expected}`);
    }
  });
}

test('DurationWindow forgets what is older than an hour', () => {
  const window = windowOf([100]);
  window.add(200, 30 * MINUTE);
  assert.equal(window.summary(59 * MINUTE)?.count, 2);
  assert.deepEqual([window.summary(60 * MINUTE)?.count, window.summary(60 * MINUTE)?.maxMs], [1, 200]);
  assert.equal(window.summary(90 * MINUTE), undefined);
  window.add(300, 120 * MINUTE); // the slot of the first one again
  assert.deepEqual([window.summary(120 * MINUTE)?.count, window.summary(120 * MINUTE)?.maxMs], [1, 300]);
});
