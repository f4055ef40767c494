import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease, Node } from '../../../api/generated/core-v1.ts';
import { formatMicroTime, parseTime } from '../../../base/rfc3339.ts';
import { belongsToOtherMachine, leaseRemainingMs, observeLease } from './node-ownership.ts';

const WALL_MS = parseTime('2026-01-01T00:00:00Z');

function nodeOf(machineID: string): Node {
  const nodeInfo = { machineID } as NonNullable<NonNullable<Node['status']>['nodeInfo']>; // other fields are not used
  return { metadata: { name: 'box' }, spec: {}, status: { nodeInfo } };
}

function leaseOf(renewedMs: number): Lease {
  return { metadata: { name: 'box' }, spec: { leaseDurationSeconds: 40, renewTime: formatMicroTime(renewedMs) } };
}

test('belongsToOtherMachine() only if both machine ids are known', () => {
  assert.equal(belongsToOtherMachine(nodeOf('other'), 'ours'), true);
  assert.equal(belongsToOtherMachine(nodeOf('ours'), 'ours'), false);
  assert.equal(belongsToOtherMachine(nodeOf(''), 'ours'), false);
  assert.equal(belongsToOtherMachine(nodeOf('other'), ''), false);
  assert.equal(belongsToOtherMachine({ metadata: { name: 'box' }, spec: {} }, 'ours'), false);
});

const cases: Record<string, { renewedMs: number; seenMs: number; leftMs: number }> = {
  'its whole duration if it was renewed just now': { renewedMs: 0, seenMs: 0, leftMs: 40_000 },
  'the remaining time': { renewedMs: -30_000, seenMs: 0, leftMs: 10_000 },
  'zero after its expiry': { renewedMs: -40_000, seenMs: 0, leftMs: 0 },
  'at most its duration if it is from the future': { renewedMs: 3_600_000, seenMs: 0, leftMs: 40_000 },
  'zero if it is from the future and was not renewed': { renewedMs: 3_600_000, seenMs: -40_000, leftMs: 0 },
};

for (const [name, { renewedMs, seenMs, leftMs }] of Object.entries(cases)) {
  test(`leaseRemainingMs() is ${name}`, () => {
    const lease = leaseOf(WALL_MS + renewedMs);
    const sighting = { renewTime: lease.spec.renewTime ?? '', sinceMs: 100_000 + seenMs };
    assert.equal(leaseRemainingMs(lease, sighting, { wallMs: WALL_MS, monotonicMs: 100_000 }), leftMs);
  });
}

test('observeLease() starts again with each renewal', () => {
  const first = observeLease(leaseOf(WALL_MS), undefined, 5);
  assert.equal(first?.sinceMs, 5);
  assert.equal(observeLease(leaseOf(WALL_MS), first, 9), first);
  assert.equal(observeLease(leaseOf(WALL_MS + 1), first, 9)?.sinceMs, 9);
  assert.equal(observeLease(undefined, first, 9), undefined);
});
