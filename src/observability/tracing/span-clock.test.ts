import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpanClock } from './span-clock.ts';

test('SpanClock is as exact as the monotonic clock, and follows a wall clock that is set', () => {
  const times = { now: 1_000_000, monotonic: 5.25 };
  const clock = new SpanClock({ now: () => times.now, monotonic: () => times.monotonic });
  const read = (): number => clock.nowMs(clock.epochMs());
  assert.equal(read(), 1_000_000);
  Object.assign(times, { now: 1_000_001, monotonic: 5.75 });
  assert.equal(read(), 1_000_000.5);
  Object.assign(times, { now: 500_000, monotonic: 6 });
  assert.equal(read(), 500_000);
});
