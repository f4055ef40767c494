import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { RequestRateLimiter } from './request-rate.ts';

const never = new AbortController().signal;

test('a burst starts at once, the rest in order and at the rate', async () => {
  const clock = new VirtualClock();
  const rate = new RequestRateLimiter({ qps: 2, burst: 3 }, clock);
  const begun: string[] = [];
  const take = async (name: string) => {
    await rate.wait(never);
    begun.push(`${name} at ${clock.monotonic()}`);
  };
  await clock.runUntil(Promise.all(['a', 'b', 'c', 'd', 'e'].map(take)));
  assert.deepEqual(begun, ['a at 0', 'b at 0', 'c at 0', 'd at 500', 'e at 1000']);
});

test('after a pause a whole burst is available again, and no more', async () => {
  const clock = new VirtualClock();
  const rate = new RequestRateLimiter({ qps: 2, burst: 2 }, clock);
  await Promise.all([rate.wait(never), rate.wait(never)]);
  await clock.runUntil(clock.sleep(60_000, never));
  await clock.runUntil(Promise.all([rate.wait(never), rate.wait(never), rate.wait(never)]));
  assert.equal(clock.monotonic(), 60_500);
});

test('an aborted wait leaves its slot to others', async () => {
  const clock = new VirtualClock();
  const rate = new RequestRateLimiter({ qps: 1, burst: 1 }, clock);
  await rate.wait(never);
  const enough = new AbortController();
  const left = rate.wait(enough.signal).catch((error: unknown) => error);
  enough.abort('enough');
  assert.equal(await clock.runUntil(left), 'enough');
  await clock.runUntil(rate.wait(never));
  assert.equal(clock.monotonic(), 1000);
});

test('without a rate nothing waits', async () => {
  const rate = new RequestRateLimiter({ qps: 0, burst: 0 }, new VirtualClock());
  for (let left = 1000; left > 0; left--) await rate.wait(never);
});
