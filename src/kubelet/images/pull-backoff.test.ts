import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { PullBackoff } from './pull-backoff.ts';

test('PullBackoff doubles from ten seconds to five minutes, for each pod separately', async () => {
  const clock = new VirtualClock();
  const backoff = new PullBackoff(clock);
  const delays: number[] = [];
  for (let attempt = 0; attempt < 7; attempt++) {
    const delay = backoff.failed('u1', 'a', 'because');
    delays.push(delay);
    await clock.advance(delay);
  }
  assert.deepEqual(delays, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  assert.equal(backoff.failed('u2', 'a', 'because'), 10_000);
});

test('PullBackoff counts a failure of two containers of a pod once', async () => {
  const clock = new VirtualClock();
  const backoff = new PullBackoff(clock);
  assert.deepEqual([backoff.failed('u1', 'a', 'no'), backoff.failed('u1', 'a', 'no')], [10_000, 10_000]);
  await clock.advance(10_000);
  assert.equal(backoff.failed('u1', 'a', 'no'), 20_000);
});

test('PullBackoff returns the delay and the error, and forgets in time', async () => {
  const clock = new VirtualClock();
  const backoff = new PullBackoff(clock);
  backoff.failed('u1', 'a', 'ErrImagePull: no');
  await clock.advance(4000);
  assert.deepEqual(backoff.waiting('u1', 'a'), { remainingMs: 6000, error: 'ErrImagePull: no' });
  await clock.advance(6000);
  assert.equal(backoff.waiting('u1', 'a'), undefined);
  await clock.advance(600_000);
  assert.equal(backoff.failed('u1', 'a', 'again'), 10_000);
  backoff.forget('u1');
  assert.equal(backoff.waiting('u1', 'a'), undefined);
});
