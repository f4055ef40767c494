import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../../host/fake/virtual-clock.ts';
import { IdleTimeout } from './idle-timeout.ts';

test('an IdleTimeout expires when nothing was received for too long', async () => {
  const clock = new VirtualClock();
  using limit = new IdleTimeout(clock, 1000);
  await clock.advance(900);
  limit.restart();
  await clock.advance(999);
  assert.equal(limit.signal.aborted, false);
  await clock.advance(1);
  assert.equal(limit.signal.aborted, true);
});

test('an IdleTimeout does not count while paused or after disposal', async () => {
  const clock = new VirtualClock();
  using limit = new IdleTimeout(clock, 1000);
  limit.pause();
  await clock.advance(5000);
  limit.restart();
  await clock.advance(999);
  assert.equal(limit.signal.aborted, false);
  limit[Symbol.dispose]();
  await clock.advance(5000);
  assert.equal(limit.signal.aborted, false);
});
