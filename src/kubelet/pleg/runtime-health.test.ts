import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { RuntimeHealth } from './runtime-health.ts';

test('a runtime is in trouble when it has not answered for 5 s, until it does', async () => {
  const clock = new VirtualClock();
  const health = new RuntimeHealth(clock);
  assert.equal(health.unhealthyReason(), undefined);
  health.recordFailure(new Error('connection refused'));
  await clock.advance(4_999);
  assert.equal(health.unhealthyReason(), undefined);
  health.recordFailure(new Error('no such socket'));
  await clock.advance(1);
  assert.equal(health.unhealthyReason(), 'the runtime has not answered for 5 s: no such socket');
  assert.equal(health.downForMs(), 5_000);
  health.recordSuccess();
  assert.equal(health.unhealthyReason(), undefined);
  assert.equal(health.downForMs(), 0);
});

test('who subscribed hears of the first failure and of the first answer after it', () => {
  const health = new RuntimeHealth(new VirtualClock());
  const heard: string[] = [];
  const unsubscribe = health.subscribe(() => void heard.push('turned'));
  health.recordSuccess();
  health.recordFailure(new Error('EOF'));
  health.recordFailure(new Error('EOF'));
  assert.equal(heard.length, 1);
  health.recordSuccess();
  assert.equal(heard.length, 2);
  unsubscribe();
  health.recordFailure(new Error('EOF'));
  assert.equal(heard.length, 2);
});
