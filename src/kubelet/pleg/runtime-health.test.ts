import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { RuntimeHealth } from './runtime-health.ts';

test('a runtime is unhealthy from 5 s without an answer until it answers', async () => {
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

test('listeners are called at the first failure and at the first success after it', () => {
  const health = new RuntimeHealth(new VirtualClock());
  const calls: string[] = [];
  const unsubscribe = health.subscribe(() => void calls.push('changed'));
  health.recordSuccess();
  health.recordFailure(new Error('EOF'));
  health.recordFailure(new Error('EOF'));
  assert.equal(calls.length, 1);
  health.recordSuccess();
  assert.equal(calls.length, 2);
  unsubscribe();
  health.recordFailure(new Error('EOF'));
  assert.equal(calls.length, 2);
});
