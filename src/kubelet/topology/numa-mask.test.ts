import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNarrower, numaMask, numaNodesOf } from './numa-mask.ts';

test('numaNodesOf() returns the nodes of a mask in order', () => {
  assert.deepEqual(numaNodesOf(numaMask([5, 0, 63])), [0, 5, 63]);
  assert.deepEqual(numaNodesOf(0n), []);
});

test('isNarrower() prefers fewer nodes, then lower ones', () => {
  assert.equal(isNarrower(numaMask([3]), numaMask([0, 1])), true);
  assert.equal(isNarrower(numaMask([0, 1]), numaMask([3])), false);
  assert.equal(isNarrower(numaMask([0, 1]), numaMask([0, 2])), true);
  assert.equal(isNarrower(numaMask([0, 1]), numaMask([0, 1])), false);
});
