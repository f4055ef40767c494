import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { WakeTimer } from './wake-timer.ts';

const LIFE = new AbortController().signal;

test('a timer wakes after its time', async () => {
  const clock = new VirtualClock();
  await clock.runUntil(new WakeTimer(clock).wait(500, LIFE));
  assert.equal(clock.monotonic(), 500);
});

test('a timer wakes at once when it is woken', async () => {
  const clock = new VirtualClock();
  const alarm = new WakeTimer(clock);
  const waiting = alarm.wait(500, LIFE);
  await clock.advance(100);
  alarm.wake();
  await clock.runUntil(waiting);
  assert.equal(clock.monotonic(), 100);
});

test('a wake-up while nothing sleeps ends the next sleep, once', async () => {
  const clock = new VirtualClock();
  const alarm = new WakeTimer(clock);
  alarm.wake();
  alarm.wake();
  await clock.runUntil(alarm.wait(500, LIFE));
  assert.equal(clock.monotonic(), 0);
  await clock.runUntil(alarm.wait(500, LIFE));
  assert.equal(clock.monotonic(), 500);
});

test('a timer wakes when its signal aborts', async () => {
  const clock = new VirtualClock();
  const life = new AbortController();
  const waiting = new WakeTimer(clock).wait(500, life.signal);
  life.abort(new Error('over'));
  await clock.runUntil(waiting);
  assert.equal(clock.monotonic(), 0);
});
