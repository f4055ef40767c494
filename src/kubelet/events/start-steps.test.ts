import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { StartSteps } from './start-steps.ts';
import { Timeline } from './timeline.ts';

const HOUR = 3_600_000;

function setUp() {
  const clock = new VirtualClock();
  const timeline = new Timeline(clock);
  const steps = new StartSteps(clock);
  steps.follow(timeline);
  const during = async (name: Parameters<Timeline['during']>[1], tookMs: number, error?: Error) => {
    const work = timeline.during('u1', name, undefined, async () => {
      await clock.sleep(tookMs, new AbortController().signal);
      if (error) throw error;
    });
    const settled = work.catch(() => undefined);
    await clock.advance(tookMs);
    await settled;
  };
  return { clock, steps, during };
}

test('StartSteps counts steps that are done, in the order of a start', async () => {
  const { steps, during } = setUp();
  await during('sandbox', 40);
  await during('sandbox', 700_000);
  await during('cgroup', 3);
  await during('sandbox', 5, new Error('no network'));
  await during('stop sandbox', 100);
  const found = steps.all();
  assert.deepEqual(
    found.map(({ step, count, sumSeconds }) => ({ step, count, sumSeconds })),
    [
      { step: 'cgroup', count: 1, sumSeconds: 0.003 },
      { step: 'sandbox', count: 2, sumSeconds: 700.04 },
    ],
  );
  const sandbox = new Map(found[1]?.buckets);
  assert.deepEqual([sandbox.get(0.025), sandbox.get(0.05), sandbox.get(600)], [0, 1, 1]);
});

test('StartSteps keeps the metric for ever, and the summary for an hour', async () => {
  const { clock, steps, during } = setUp();
  await during('sandbox', 40);
  assert.equal(steps.all()[0]?.lastHour?.count, 1);
  await clock.advance(HOUR);
  assert.deepEqual([steps.all()[0]?.lastHour, steps.all()[0]?.count], [undefined, 1]);
});
