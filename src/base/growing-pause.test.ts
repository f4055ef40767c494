import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingPause } from './growing-pause.ts';

const SHAPE = { firstMs: 800, maxMs: 3000, jitter: 1 };

test('GrowingPause doubles up to its limit', () => {
  const pause = new GrowingPause(SHAPE);
  assert.deepEqual(
    [0, 0, 0, 0].map((chance) => pause.next(chance)),
    [800, 1600, 3000, 3000],
  );
});

test('GrowingPause adds chance to a pause, not to the growth', () => {
  const pause = new GrowingPause(SHAPE);
  assert.deepEqual([pause.next(0.5), pause.next(0)], [1200, 1600]);
});

test('GrowingPause starts anew after it went well', () => {
  const pause = new GrowingPause(SHAPE);
  pause.next(0);
  pause.reset();
  assert.equal(pause.next(0), 800);
});
