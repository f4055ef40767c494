import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patchShape } from './patch-shapes.ts';
import type { PatchMap } from './patch-value.ts';
import { isSame, strategicDiff } from './strategic-diff.ts';
import { strategicMerge } from './strategic-merge.ts';

const SHAPE = patchShape('pods').fields?.['status'] ?? {};

const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
const gate = { type: 'example.com/gate', status: 'True' };
const before: PatchMap = {
  phase: 'Running',
  message: 'hello',
  conditions: [ready, gate],
  podIP: '10.0.0.1',
  podIPs: [{ ip: '10.0.0.1' }],
  containerStatuses: [{ name: 'main', ready: true, restartCount: 0, lastState: {} }],
  resources: { requests: { cpu: '1', memory: '1Gi' } },
};

const cases: Record<string, { after: PatchMap; patch: PatchMap }> = {
  'is empty for the same object': { after: before, patch: {} },
  'ignores empty fields': {
    after: {
      ...before,
      reason: '',
      hostIPs: [],
      conditions: [{ ...ready, lastProbeTime: null }, gate],
      containerStatuses: [{ name: 'main', ready: true, restartCount: 0 }],
    },
    patch: {},
  },
  'keeps resources that became empty': {
    after: { ...before, resources: {} },
    patch: { resources: { requests: null } },
  },
  'sends a plain field': { after: { ...before, phase: 'Failed' }, patch: { phase: 'Failed' } },
  'adds a field': { after: { ...before, reason: 'Evicted' }, patch: { reason: 'Evicted' } },
  'deletes a field': { after: { ...before, message: undefined }, patch: { message: null } },
  'sends only what differs in a map': {
    after: { ...before, resources: { requests: { cpu: '2' } } },
    patch: { resources: { requests: { cpu: '2', memory: null } } },
  },
  'sends a list without a key as a whole': {
    after: { ...before, containerStatuses: [{ name: 'main', ready: false, restartCount: 1 }] },
    patch: { containerStatuses: [{ name: 'main', ready: false, restartCount: 1 }] },
  },
  'sends only the changed element of a keyed list': {
    after: { ...before, conditions: [{ ...ready, status: 'False', reason: 'ContainersNotReady' }, gate] },
    patch: {
      '$setElementOrder/conditions': [{ type: 'Ready' }, { type: 'example.com/gate' }],
      conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
    },
  },
  'adds and deletes elements': {
    after: { ...before, podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }] },
    patch: {
      podIP: '10.0.0.2',
      '$setElementOrder/podIPs': [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }],
      podIPs: [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }, { $patch: 'delete', ip: '10.0.0.1' }],
    },
  },
  'sends a changed order': {
    after: { ...before, conditions: [gate, ready] },
    patch: { '$setElementOrder/conditions': [{ type: 'example.com/gate' }, { type: 'Ready' }] },
  },
};

for (const [name, { after, patch }] of Object.entries(cases)) {
  test(`strategicDiff() ${name}`, () => {
    assert.deepEqual(strategicDiff(before, after, SHAPE), patch);
  });

  test(`strategicDiff() ${name}, and the server applies it`, () => {
    assert.ok(isSame(strategicMerge(before, strategicDiff(before, after, SHAPE), SHAPE), after));
  });
}

test('strategicDiff() keeps additions of other writers', () => {
  const other = { type: 'example.com/other', status: 'False' };
  const patch = strategicDiff(before, { ...before, conditions: [{ ...ready, status: 'False' }, gate] }, SHAPE);
  const merged = strategicMerge({ ...before, conditions: [ready, gate, other] }, patch, SHAPE);
  assert.deepEqual(merged['conditions'], [{ ...ready, status: 'False' }, gate, other]);
});

test('strategicDiff() sends empty resources, as kubelet does', () => {
  const { resources: _, ...without } = before;
  assert.deepEqual(strategicDiff(without, { ...without, resources: {} }, SHAPE), { resources: {} });
  assert.deepEqual(strategicDiff({ ...without, resources: {} }, { ...without, resources: {} }, SHAPE), {});
});
