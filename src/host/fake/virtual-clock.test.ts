import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from './virtual-clock.ts';

const never = new AbortController().signal;

test('VirtualClock stands still until it is moved', async () => {
  const clock = new VirtualClock({ startMs: 1000 });
  assert.deepEqual([clock.now(), clock.monotonic()], [1000, 0]);
  await clock.advance(250);
  assert.deepEqual([clock.now(), clock.monotonic()], [1250, 250]);
});

test('VirtualClock wakes sleepers in the order in which they are due, then of creation', async () => {
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

test('VirtualClock lets whoever it woke go as far as it can before the time moves on', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const seen: number[] = [];
  const loop = (async () => {
    for (let round = 0; round < 3; round++) {
      await clock.sleep(10, never);
      for (let i = 0; i < 100; i++) await Promise.resolve(); // many microtasks later it is still the same time
      seen.push(clock.now());
    }
  })();
  await clock.advance(100);
  await loop;
  assert.deepEqual([seen, clock.now()], [[10, 20, 30], 100]);
});

test('VirtualClock fires a timer that was made on the way in its place', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const order: string[] = [];
  void clock.sleep(10, never).then(() => clock.sleep(5, never).then(() => order.push('made on the way')));
  void clock.sleep(20, never).then(() => order.push('made before'));
  await clock.advance(20);
  assert.deepEqual(order, ['made on the way', 'made before']);
});

test('VirtualClock does not fire what was cancelled', async () => {
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

test('VirtualClock.runUntilIdle() gives up on who never rests', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const restless = (async () => {
    for (;;) await clock.sleep(1000, controller.signal);
  })();
  await assert.rejects(clock.runUntilIdle(10_000), { message: 'still 1 asleep after 10000 ms of virtual time' });
  controller.abort(new Error('enough'));
  await assert.rejects(restless, { message: 'enough' });
});

test('VirtualClock.runUntil() moves the time just as far as it takes', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const answer = clock.sleep(3000, never).then(() => 'done');
  void clock.sleep(99_000, never);
  assert.equal(await clock.runUntil(answer), 'done');
  assert.equal(clock.now(), 3000);
  await assert.rejects(clock.runUntil(clock.sleep(1, clock.deadline(0))), { name: 'TimeoutError' });
});

test('VirtualClock.runUntil() says when nothing is left to wait for', async () => {
  const clock = new VirtualClock();
  await assert.rejects(clock.runUntil(new Promise(() => {})), {
    message: 'nothing is left that could settle what is waited for',
  });
});

test('VirtualClock is moved by one at a time', async () => {
  const clock = new VirtualClock();
  const first = clock.advance(10);
  await assert.rejects(clock.advance(10), { message: 'the time is being moved already' });
  await first;
});
