import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from './virtual-clock.ts';

const never = new AbortController().signal;

test('VirtualClock does not move by itself', async () => {
  const clock = new VirtualClock({ startMs: 1000 });
  assert.deepEqual([clock.now(), clock.monotonic()], [1000, 0]);
  await clock.advance(250);
  assert.deepEqual([clock.now(), clock.monotonic()], [1250, 250]);
});

test('VirtualClock wakes sleepers by due time, then by creation', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const order: string[] = [];
  const sleep = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms, never);
    order.push(`${name}@${clock.now()}`);
  };
  const sleeps = [sleep('c', 30), sleep('a', 10), sleep('b1', 20), sleep('b2', 20)];
  await clock.advance(30);
  await Promise.all(sleeps);
  assert.deepEqual(order, ['a@10', 'b1@20', 'b2@20', 'c@30']);
});

test('VirtualClock runs all microtasks of a woken sleeper before the time moves on', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const seen: number[] = [];
  const loop = (async () => {
    for (let round = 0; round < 3; round++) {
      await clock.sleep(10, never);
      for (let i = 0; i < 100; i++) await Promise.resolve(); // the time is the same after many microtasks
      seen.push(clock.now());
    }
  })();
  await clock.advance(100);
  await loop;
  assert.deepEqual([seen, clock.now()], [[10, 20, 30], 100]);
});

test('VirtualClock fires a timer that was created by another timer in order', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const order: string[] = [];
  void clock.sleep(10, never).then(() => clock.sleep(5, never).then(() => order.push('created by a timer')));
  void clock.sleep(20, never).then(() => order.push('created before'));
  await clock.advance(20);
  assert.deepEqual(order, ['created by a timer', 'created before']);
});

test('VirtualClock does not fire cancelled timers', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const controller = new AbortController();
  const sleep = clock.sleep(10, controller.signal);
  controller.abort(new Error('enough'));
  await assert.rejects(sleep, { message: 'enough' });
  await clock.runUntilIdle();
  assert.deepEqual([clock.now(), clock.sleeping], [0, 0]);
});

test('VirtualClock.jump() changes the wall clock and no timer', async () => {
  const clock = new VirtualClock({ startMs: 1_000_000 });
  const sleep = clock.sleep(10, never);
  clock.jump(-500_000);
  await Promise.all([sleep, clock.advance(10)]);
  assert.deepEqual([clock.now(), clock.monotonic()], [500_010, 10]);
});

test('VirtualClock.runUntilIdle() waits for sleeps and not for deadlines', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const deadline = clock.deadline(60_000);
  void clock.sleep(1000, never).then(() => clock.sleep(1000, never));
  await clock.runUntilIdle();
  assert.deepEqual([clock.now(), deadline.aborted], [2000, false]);
});

test('VirtualClock.runUntilIdle() rejects when sleeps never end', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const restless = (async () => {
    for (;;) await clock.sleep(1000, controller.signal);
  })();
  await assert.rejects(clock.runUntilIdle(10_000), { message: 'still 1 asleep after 10000 ms of virtual time' });
  controller.abort(new Error('enough'));
  await assert.rejects(restless, { message: 'enough' });
});

test('VirtualClock.runUntil() moves the time only as far as needed', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const answer = clock.sleep(3000, never).then(() => 'done');
  void clock.sleep(99_000, never);
  assert.equal(await clock.runUntil(answer), 'done');
  assert.equal(clock.now(), 3000);
  await assert.rejects(clock.runUntil(clock.sleep(1, clock.deadline(0))), { name: 'TimeoutError' });
});

test('VirtualClock.runUntil() rejects when no timer is left', async () => {
  const clock = new VirtualClock();
  await assert.rejects(clock.runUntil(new Promise(() => {})), {
    message: 'no timer is left that could settle the promise',
  });
});

test('VirtualClock rejects a second concurrent move', async () => {
  const clock = new VirtualClock();
  const first = clock.advance(10);
  await assert.rejects(clock.advance(10), { message: 'the clock is already moving' });
  await first;
});
