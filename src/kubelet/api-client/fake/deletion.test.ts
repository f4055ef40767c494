import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../../base/rfc3339.ts';
import { type Deletion, decideDeletion } from './deletion.ts';
import { toWire } from './wire-object.ts';

const now = '2026-01-01T00:01:00Z';
const running = {
  metadata: { name: 'web', generation: 3 },
  spec: { nodeName: 'box', terminationGracePeriodSeconds: 30 },
  status: { phase: 'Running' },
};
/** Marked at 00:00:50, with its end at 00:01:20. */
const going = { generation: 4, deletionTimestamp: '2026-01-01T00:01:20Z', deletionGracePeriodSeconds: 30 };

function marked(deletionTimestamp: string, deletionGracePeriodSeconds: number, generation?: number): Deletion {
  const metadata = { ...(generation && { generation }), deletionTimestamp, deletionGracePeriodSeconds };
  return { kind: 'mark', metadata, thenRemove: deletionGracePeriodSeconds === 0 };
}

const cases: Record<string, { metadata?: object; spec?: object; status?: object; asked?: number; result: Deletion }> = {
  'gives a pod the grace period of its spec': { result: marked('2026-01-01T00:01:30Z', 30, 4) },
  'gives a pod the requested grace period': { asked: 300, result: marked('2026-01-01T00:06:00Z', 300, 4) },
  'treats a negative grace period as a second': { asked: -1, result: marked('2026-01-01T00:01:01Z', 1, 4) },
  'marks and removes without grace': { asked: 0, result: marked(now, 0, 4) },
  'gives a pod without a node no grace period': { spec: { nodeName: '' }, asked: 300, result: marked(now, 0, 4) },
  'gives a failed pod no grace period': { status: { phase: 'Failed' }, asked: 300, result: marked(now, 0, 4) },
  'keeps a pending deletion if nothing is requested': { metadata: going, result: { kind: 'pending' } },
  'keeps a pending deletion if the same is requested': { metadata: going, asked: 30, result: { kind: 'pending' } },
  'shortens the grace period from its start': {
    metadata: going,
    asked: 25,
    result: marked('2026-01-01T00:01:15Z', 25),
  },
  'leaves a second if the shorter grace period is over': { metadata: going, asked: 5, result: marked(now, 1) },
  'ends the grace period of a pending deletion': { metadata: going, asked: 0, result: marked(now, 0) },
  'removes a pod whose grace period was ended before': {
    metadata: { ...going, deletionGracePeriodSeconds: 0 },
    result: { kind: 'remove' },
  },
  'keeps a pod with finalizers': {
    metadata: { finalizers: ['f'] },
    asked: 0,
    result: {
      kind: 'mark',
      metadata: { generation: 4, deletionTimestamp: now, deletionGracePeriodSeconds: 0 },
      thenRemove: false,
    },
  },
};

for (const [name, { metadata, spec, status, asked, result }] of Object.entries(cases)) {
  test(`decideDeletion() ${name}`, () => {
    const pod = toWire({
      metadata: { ...running.metadata, ...metadata },
      spec: { ...running.spec, ...spec },
      status: { ...running.status, ...status },
    });
    assert.deepEqual(decideDeletion('pods', pod, asked, parseTime(now)), result);
  });
}

test('decideDeletion() removes other objects at once', () => {
  assert.deepEqual(decideDeletion('leases', toWire({ metadata: { name: 'box' } }), 30, parseTime(now)), {
    kind: 'remove',
  });
});
