import assert from 'node:assert/strict';
import { test } from 'node:test';
import { syncLoopUnhealthyReason } from './sync-loop-health.ts';

const WELL = { stuckForMs: 0, runtimeDownForMs: 0 };
const UNHEALTHY = 'sync Loop took longer than expected';

test('syncLoopUnhealthyReason() allows five minutes, also with a short sync frequency', () => {
  assert.equal(syncLoopUnhealthyReason(WELL, 60_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 300_000 }, 60_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 300_001 }, 60_000), UNHEALTHY);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 300_001 }, 1_000), UNHEALTHY);
});

test('syncLoopUnhealthyReason() allows twice the sync frequency if that is longer', () => {
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 600_000 }, 300_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 600_001 }, 300_000), UNHEALTHY);
});

test('syncLoopUnhealthyReason() counts the time without a runtime, except for its first 30 seconds', () => {
  assert.equal(syncLoopUnhealthyReason({ ...WELL, runtimeDownForMs: 330_000 }, 60_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, runtimeDownForMs: 330_001 }, 60_000), UNHEALTHY);
});
