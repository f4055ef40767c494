import assert from 'node:assert/strict';
import { test } from 'node:test';
import { syncLoopUnhealthyReason } from './sync-loop-health.ts';

const WELL = { stuckForMs: 0, runtimeDownForMs: 0 };
const FAULT = 'sync Loop took longer than expected';

test('syncLoopFault() gives the loop five minutes, and no less where pods are looked at often', () => {
  assert.equal(syncLoopUnhealthyReason(WELL, 60_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 300_000 }, 60_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 300_001 }, 60_000), FAULT);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 300_001 }, 1_000), FAULT);
});

test('syncLoopFault() gives it twice the time between two looks at a pod where that is more', () => {
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 600_000 }, 300_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, stuckForMs: 600_001 }, 300_000), FAULT);
});

test('syncLoopFault() tells of a loop that has to wait for its runtime, which it does after half a minute', () => {
  assert.equal(syncLoopUnhealthyReason({ ...WELL, runtimeDownForMs: 330_000 }, 60_000), undefined);
  assert.equal(syncLoopUnhealthyReason({ ...WELL, runtimeDownForMs: 330_001 }, 60_000), FAULT);
});
