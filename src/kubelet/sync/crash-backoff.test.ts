import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { CrashBackoff } from './crash-backoff.ts';

const SECOND = 1000;

function fixture() {
  const clock = new VirtualClock();
  const backoff = new CrashBackoff(300 * SECOND);
  /** The container exits now; returns the wall-clock time that the runtime reports. */
  const exit = (): number => clock.now();
  return { clock, backoff, exit };
}

test('CrashBackoff allows the first restart at once, then waits 10 s, doubling to the maximum', async () => {
  const { clock, backoff, exit } = fixture();
  const delays: number[] = [];
  for (let crash = 0; crash < 8; crash++) {
    const ended = exit();
    const pause = backoff.remaining('pod/web', ended, clock);
    delays.push((pause?.delayMs ?? 0) / SECOND);
    await clock.advance(pause?.leftMs ?? 0);
    assert.equal(backoff.remaining('pod/web', ended, clock), undefined);
    backoff.recordRestart('pod/web', ended, clock);
    await clock.advance(SECOND);
  }
  assert.deepEqual(delays, [0, 10, 20, 40, 80, 160, 300, 300]);
});

test('CrashBackoff resets after a long run', async () => {
  const { clock, backoff, exit } = fixture();
  backoff.recordRestart('pod/web', exit(), clock);
  await clock.advance(600 * SECOND + 1);
  const ended = exit();
  assert.equal(backoff.remaining('pod/web', ended, clock), undefined);
  backoff.recordRestart('pod/web', ended, clock);
  assert.deepEqual(backoff.remaining('pod/web', exit(), clock), { delayMs: 10 * SECOND, leftMs: 10 * SECOND });
});

test('CrashBackoff counts from the exit of the container', async () => {
  const { clock, backoff, exit } = fixture();
  backoff.recordRestart('pod/web', exit(), clock);
  await clock.advance(5 * SECOND);
  const ended = exit();
  await clock.advance(4 * SECOND);
  assert.deepEqual(backoff.remaining('pod/web', ended, clock), { delayMs: 10 * SECOND, leftMs: 6 * SECOND });
  await clock.advance(6 * SECOND);
  assert.equal(backoff.remaining('pod/web', ended, clock), undefined);
});

for (const jump of [3600 * SECOND, -3600 * SECOND]) {
  test(`CrashBackoff is unaffected when the wall clock jumps by ${jump / SECOND} s`, async () => {
    const { clock, backoff, exit } = fixture();
    backoff.recordRestart('pod/web', exit(), clock);
    await clock.advance(SECOND);
    const ended = exit();
    backoff.remaining('pod/web', ended, clock);
    await clock.advance(4 * SECOND);
    clock.jump(jump);
    assert.deepEqual(backoff.remaining('pod/web', ended, clock), { delayMs: 10 * SECOND, leftMs: 6 * SECOND });
  });
}

test('CrashBackoff treats an exit in the future as one now', () => {
  const { clock, backoff, exit } = fixture();
  backoff.recordRestart('pod/web', exit(), clock);
  const pause = backoff.remaining('pod/web', exit() + 3600 * SECOND, clock);
  assert.deepEqual(pause, { delayMs: 10 * SECOND, leftMs: 10 * SECOND });
});

test('CrashBackoff forgets a pod', () => {
  const { clock, backoff, exit } = fixture();
  backoff.recordRestart('pod/web', exit(), clock);
  backoff.forget('pod/');
  assert.equal(backoff.remaining('pod/web', exit(), clock), undefined);
});
