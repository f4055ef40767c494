import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountsOf } from '../../api/pod-resources.ts';
import { withDevicesInUse, withPluginDevices } from './devices-in-use.ts';

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

test('the devices of plugins are resources of the node, also those of a plugin that is lost', () => {
  const capacity = new Map([
    ['example.com/gpu', 4],
    ['example.com/nic', 2],
  ]);
  const allocatable = new Map([
    ['example.com/gpu', 3],
    ['example.com/nic', 0],
  ]);
  const amounts = withPluginDevices(ALLOCATABLE, { capacity, allocatable, removed: new Set(['example.com/fpga']) });
  assert.deepEqual(Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()])), {
    cpu: '2',
    'example.com/gpu': '3',
    'example.com/nic': '0',
    'example.com/fpga': '0',
  });
  assert.deepEqual(withPluginDevices(ALLOCATABLE), ALLOCATABLE);
});
