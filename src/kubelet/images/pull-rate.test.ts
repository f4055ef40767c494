import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { PullRateLimiter } from './pull-rate.ts';

test('PullRateLimiter accepts a burst, then a number per second', async () => {
  const clock = new VirtualClock();
  const rate = new PullRateLimiter({ qps: 5, burst: 3 }, clock);
  const takes = (count: number) => Array.from({ length: count }, () => rate.tryAccept());
  assert.deepEqual(takes(4), [true, true, true, false]);
  await clock.advance(199);
  assert.deepEqual(takes(1), [false]);
  await clock.advance(1);
  assert.deepEqual(takes(2), [true, false]);
  await clock.advance(60_000);
  assert.deepEqual(takes(4), [true, true, true, false]);
});

test('PullRateLimiter has no limit for 0', () => {
  const rate = new PullRateLimiter({ qps: 0, burst: 10 }, new VirtualClock());
  assert.ok(Array.from({ length: 100 }, () => rate.tryAccept()).every((taken) => taken));
});
