import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountsOf } from '../../api/pod-resources.ts';
import { withDevicesInUse } from './devices-in-use.ts';

const ALLOCATABLE = amountsOf({ cpu: '2', 'example.com/gpu': '1' });

function counts(inUse: Record<string, number> | undefined): Record<string, string> {
  const amounts = withDevicesInUse(ALLOCATABLE, inUse && new Map(Object.entries(inUse)));
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]));
}

test('a pod without devices sees the node as it is', () => {
  assert.equal(withDevicesInUse(ALLOCATABLE, undefined), ALLOCATABLE);
});

test('a pod with devices sees at least those in use', () => {
  assert.deepEqual(counts({ 'example.com/gpu': 1 }), { cpu: '2', 'example.com/gpu': '1' });
  assert.deepEqual(counts({ 'example.com/gpu': 3, 'example.com/nic': 1 }), {
    cpu: '2',
    'example.com/gpu': '3',
    'example.com/nic': '1',
  });
});
