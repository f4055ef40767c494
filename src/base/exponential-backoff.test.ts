import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExponentialBackoff } from './exponential-backoff.ts';

const SHAPE = { firstMs: 800, maxMs: 3000, jitter: 1 };

test('ExponentialBackoff doubles up to its limit', () => {
  const pause = new ExponentialBackoff(SHAPE);
  assert.deepEqual(
    [0, 0, 0, 0].map((chance) => pause.next(chance)),
    [800, 1600, 3000, 3000],
  );
});

test('ExponentialBackoff adds jitter to a delay, not to the growth', () => {
  const pause = new ExponentialBackoff(SHAPE);
  assert.deepEqual([pause.next(0.5), pause.next(0)], [1200, 1600]);
});

test('ExponentialBackoff starts over after a reset', () => {
  const pause = new ExponentialBackoff(SHAPE);
  pause.next(0);
  pause.reset();
  assert.equal(pause.next(0), 800);
});
