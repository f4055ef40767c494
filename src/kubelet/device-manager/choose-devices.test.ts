import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devicesOf } from '../../plugins/fake/fake-device-plugin.ts';
import { numaMask } from '../topology/numa-mask.ts';
import {
  chooseDevices,
  completeChoice,
  type DeviceDemand,
  nodesWithDevices,
  splitByAffinity,
} from './choose-devices.ts';

const DEVICES = devicesOf('a@0', 'b@0', 'c@1', 'd@1', 'e@0,1', 'f');

function demandOf(change: Partial<DeviceDemand>): DeviceDemand {
  return {
    resourceName: 'example.com/gpu',
    required: 1,
    reusable: new Set(),
    available: new Set(DEVICES.keys()),
    devices: DEVICES,
    affinity: undefined,
    ...change,
  };
}

const choose = (change: Partial<DeviceDemand>, preferred: readonly string[] = []): readonly string[] => [
  ...completeChoice(chooseDevices(demandOf(change)), preferred),
];

const CASES: Readonly<Record<string, [Partial<DeviceDemand>, readonly string[], readonly string[]]>> = {
  'takes reusable devices first, without its plugin': [{ required: 1, reusable: new Set(['x']) }, ['b'], ['x']],
  'fills reusable devices up': [{ required: 2, reusable: new Set(['x']) }, [], ['x', 'a']],
  'takes no more reusable devices than needed': [{ required: 1, reusable: new Set(['x', 'y']) }, [], ['x']],
  'takes what the plugin prefers': [{ required: 2 }, ['f', 'd'], ['f', 'd']],
  'ignores unknown ids': [{ required: 2 }, ['z', 'd'], ['d', 'a']],
  'ignores ids that are not available': [{ required: 2, available: new Set(['a', 'b']) }, ['c', 'b'], ['b', 'a']],
  'ignores ids that are too many': [{ required: 1 }, ['b', 'c', 'd'], ['b']],
  'counts an id once': [{ required: 2 }, ['d', 'd'], ['d', 'a']],
  'takes devices of the affinity': [{ required: 2, affinity: numaMask([1]) }, [], ['c', 'd']],
  'lets the plugin choose only of the affinity, if it has enough': [
    { required: 2, affinity: numaMask([1]) },
    ['a', 'e', 'd'],
    ['e', 'd'],
  ],
  'takes the whole affinity without its plugin': [
    { required: 3, affinity: numaMask([1]) },
    ['a', 'b', 'f'],
    ['c', 'd', 'e'],
  ],
  'takes the whole affinity before what the plugin prefers': [
    { required: 4, affinity: numaMask([1]) },
    ['f', 'a', 'b'],
    ['c', 'd', 'e', 'f'],
  ],
  'takes devices of other nodes before those without a node': [
    { required: 5, affinity: numaMask([1]) },
    [],
    ['c', 'd', 'e', 'a', 'b'],
  ],
};

for (const [name, [change, preferred, expected]] of Object.entries(CASES)) {
  test(`chooseDevices() ${name}`, () => {
    assert.deepEqual(choose(change, preferred), expected);
  });
}

test('chooseDevices() offers the plugin what is available and what it must include', () => {
  const reusable = new Set(['x']);
  const available = new Set(['a', 'b', 'c']);
  const choice = chooseDevices(demandOf({ required: 2, reusable, available }));
  assert.ok(choice.kind === 'open');
  assert.deepEqual(choice.request, { available: ['a', 'b', 'c', 'x'], mustInclude: ['x'], size: 2 });
});

test('chooseDevices() has kubelet’s text when too few devices are left', () => {
  const message = 'requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1';
  const demand = { required: 3, reusable: new Set(['x']), available: new Set(['a']) };
  assert.throws(() => choose(demand), { message });
});

test('splitByAffinity() has each device in one set', () => {
  const { aligned, unaligned, noAffinity } = splitByAffinity(demandOf({ affinity: numaMask([0]) }));
  assert.deepEqual([[...aligned], [...unaligned], [...noAffinity]], [['a', 'b', 'e'], ['c', 'd'], ['f']]);
  const plain = devicesOf('a', 'b');
  const unplaced = splitByAffinity(demandOf({ affinity: 1n, devices: plain, available: new Set(plain.keys()) }));
  assert.deepEqual([unplaced.aligned.size, unplaced.noAffinity.size], [0, 2]);
});

test('nodesWithDevices() has nodes of the machine only', () => {
  assert.deepEqual(nodesWithDevices(devicesOf('a@3', 'b@1', 'c@1,9'), [0, 1, 2, 3]), [1, 3]);
  assert.deepEqual(nodesWithDevices(devicesOf('a@9'), [0, 1]), [0, 1]);
});
