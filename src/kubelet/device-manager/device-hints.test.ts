import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devicesOf } from '../../plugins/fake/fake-device-plugin.ts';
import { numaNodesOf } from '../topology/numa-mask.ts';
import { deviceHints, type HintView } from './device-hints.ts';

const MACHINE = [0, 1, 2, 3];

function hintsOf(view: Pick<HintView, 'devices' | 'requested'> & Partial<HintView>): readonly string[] {
  const available = new Set([...view.devices.keys()]);
  const hints = deviceHints({ available, reusable: new Set(), machineNodes: MACHINE, ...view });
  return hints.map(({ affinity, preferred }) => `${numaNodesOf(affinity ?? 0n).join('+')}${preferred ? '!' : ''}`);
}

const TWO_NODES = devicesOf('a@0', 'b@0', 'c@1', 'd@1');

test('the smallest sets of nodes that can hold the request are preferred', () => {
  assert.deepEqual(hintsOf({ devices: TWO_NODES, requested: 1 }), ['0!', '1!', '0+1']);
  assert.deepEqual(hintsOf({ devices: TWO_NODES, requested: 3 }), ['0+1!']);
  assert.deepEqual(hintsOf({ devices: TWO_NODES, requested: 5 }), []);
});

test('what is smallest depends on all devices, also on those in use', () => {
  const available = new Set(['a', 'c']);
  assert.deepEqual(hintsOf({ devices: TWO_NODES, requested: 2, available }), ['0+1']);
});

test('nodes without devices, and nodes that the machine does not have, are in no hint', () => {
  assert.deepEqual(hintsOf({ devices: devicesOf('a@3', 'b@1', 'c@60'), requested: 1 }), ['1!', '3!', '1+3']);
});

test('devices of several nodes count for each of them', () => {
  assert.deepEqual(hintsOf({ devices: devicesOf('a@0,1', 'b@1'), requested: 2 }), ['1!', '0+1']);
});

test('reusable devices must be on the nodes of a hint', () => {
  const view = { devices: TWO_NODES, available: new Set(['b', 'c']), reusable: new Set(['a']) };
  assert.deepEqual(hintsOf({ ...view, requested: 1 }), ['0!', '0+1']);
  assert.deepEqual(hintsOf({ ...view, requested: 2 }), ['0!', '0+1']);
});
