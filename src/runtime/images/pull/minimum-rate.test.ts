import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../../host/fake/virtual-clock.ts';
import { MinimumRate } from './minimum-rate.ts';

const MINUTE_MS = 60_000;

/** Each step: bytes received, then minutes passed. */
const CASES: Record<string, { steps: ReadonlyArray<readonly [number, number]>; isAborted: boolean }> = {
  'nothing for five minutes': { steps: [[0, 5]], isAborted: false },
  'nothing for longer': { steps: [[0, 5.1]], isAborted: true },
  'half the rate': { steps: Array.from({ length: 11 }, () => [30 * 1024, 1] as const), isAborted: true },
  'exactly the rate': { steps: Array.from({ length: 60 }, () => [60 * 1024, 1] as const), isAborted: false },
  'much, then nothing for ten minutes': { steps: [[1e9, 10]], isAborted: false },
  'much, then nothing for longer': { steps: [[1e9, 10.1]], isAborted: true },
};

for (const [what, { steps, isAborted }] of Object.entries(CASES)) {
  test(`MinimumRate: ${what} is ${isAborted ? 'too slow' : 'accepted'}`, async () => {
    const clock = new VirtualClock();
    using rate = new MinimumRate(clock);
    for (const [bytes, minutes] of steps) {
      rate.received(bytes);
      await clock.advance(minutes * MINUTE_MS);
    }
    assert.equal(rate.signal.aborted, isAborted);
  });
}

test('MinimumRate does not count the time of the consumer', async () => {
  const clock = new VirtualClock();
  using rate = new MinimumRate(clock);
  await clock.advance(MINUTE_MS);
  rate.pause();
  await clock.advance(60 * MINUTE_MS);
  rate.resume();
  await clock.advance(4 * MINUTE_MS);
  assert.deepEqual([rate.signal.aborted, rate.elapsedMs], [false, 5 * MINUTE_MS]);
  await clock.advance(10);
  assert.equal(rate.signal.aborted, true);
});
