import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CrashBackoff } from './crash-backoff.ts';

const SECOND = 1000;

test('CrashBackoff lets the first restart through, then waits 10 s, doubling to the maximum', () => {
  const backoff = new CrashBackoff(300 * SECOND);
  let now = 0;
  const delays: number[] = [];
  for (let crash = 0; crash < 8; crash++) {
    const pause = backoff.pause('pod/web', now, now);
    delays.push((pause?.delayMs ?? 0) / SECOND);
    now += pause?.leftMs ?? 0;
    assert.equal(backoff.pause('pod/web', now - (pause?.delayMs ?? 0), now), undefined);
    backoff.started('pod/web', now, now);
    now += SECOND;
  }
  assert.deepEqual(delays, [0, 10, 20, 40, 80, 160, 300, 300]);
});

test('CrashBackoff begins anew after a long run', () => {
  const backoff = new CrashBackoff(300 * SECOND);
  backoff.started('pod/web', 0, 0);
  const ended = 600 * SECOND + 1;
  assert.equal(backoff.pause('pod/web', ended, ended), undefined);
  backoff.started('pod/web', ended, ended);
  assert.deepEqual(backoff.pause('pod/web', ended, ended), { delayMs: 10 * SECOND, leftMs: 10 * SECOND });
});

test('CrashBackoff counts from the end of the container', () => {
  const backoff = new CrashBackoff(300 * SECOND);
  backoff.started('pod/web', 0, 0);
  assert.deepEqual(backoff.pause('pod/web', 5 * SECOND, 9 * SECOND), { delayMs: 10 * SECOND, leftMs: 6 * SECOND });
  assert.equal(backoff.pause('pod/web', 5 * SECOND, 15 * SECOND), undefined);
});

test('CrashBackoff forgets a pod', () => {
  const backoff = new CrashBackoff(300 * SECOND);
  backoff.started('pod/web', 0, 0);
  backoff.forget('pod/');
  assert.equal(backoff.pause('pod/web', 0, 0), undefined);
});
