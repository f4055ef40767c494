import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { RequestRate } from './request-rate.ts';

const never = new AbortController().signal;

test('a burst begins at once, the rest in order and in time', async () => {
  const clock = new VirtualClock();
  const rate = new RequestRate({ qps: 2, burst: 3 }, clock);
  const begun: string[] = [];
  const take = async (name: string) => {
    await rate.turn(never);
    begun.push(`${name} at ${clock.monotonic()}`);
  };
  await clock.runUntil(Promise.all(['a', 'b', 'c', 'd', 'e'].map(take)));
  assert.deepEqual(begun, ['a at 0', 'b at 0', 'c at 0', 'd at 500', 'e at 1000']);
});

test('who has waited long enough gets a whole burst again, and no more', async () => {
  const clock = new VirtualClock();
  const rate = new RequestRate({ qps: 2, burst: 2 }, clock);
  await Promise.all([rate.turn(never), rate.turn(never)]);
  await clock.runUntil(clock.sleep(60_000, never));
  await clock.runUntil(Promise.all([rate.turn(never), rate.turn(never), rate.turn(never)]));
  assert.equal(clock.monotonic(), 60_500);
});

test('who gives up leaves his turn to others', async () => {
  const clock = new VirtualClock();
  const rate = new RequestRate({ qps: 1, burst: 1 }, clock);
  await rate.turn(never);
  const enough = new AbortController();
  const left = rate.turn(enough.signal).catch((error: unknown) => error);
  enough.abort('enough');
  assert.equal(await clock.runUntil(left), 'enough');
  await clock.runUntil(rate.turn(never));
  assert.equal(clock.monotonic(), 1000);
});

test('without a rate nobody waits', async () => {
  const rate = new RequestRate({ qps: 0, burst: 0 }, new VirtualClock());
  for (let left = 1000; left > 0; left--) await rate.turn(never);
});
