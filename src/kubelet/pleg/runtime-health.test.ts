import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { RuntimeHealth } from './runtime-health.ts';

test('a runtime is in trouble when it has not answered for 5 s, until it does', async () => {
  const clock = new VirtualClock();
  const health = new RuntimeHealth(clock);
  assert.equal(health.trouble(), undefined);
  health.failed(new Error('connection refused'));
  await clock.advance(4_999);
  assert.equal(health.trouble(), undefined);
  health.failed(new Error('no such socket'));
  await clock.advance(1);
  assert.equal(health.trouble(), 'the runtime has not answered for 5 s: no such socket');
  assert.equal(health.awayForMs(), 5_000);
  health.answered();
  assert.equal(health.trouble(), undefined);
  assert.equal(health.awayForMs(), 0);
});

test('who subscribed hears of the first failure and of the first answer after it', () => {
  const health = new RuntimeHealth(new VirtualClock());
  const heard: string[] = [];
  const unsubscribe = health.subscribe(() => void heard.push('turned'));
  health.answered();
  health.failed(new Error('EOF'));
  health.failed(new Error('EOF'));
  assert.equal(heard.length, 1);
  health.answered();
  assert.equal(heard.length, 2);
  unsubscribe();
  health.failed(new Error('EOF'));
  assert.equal(heard.length, 2);
});
