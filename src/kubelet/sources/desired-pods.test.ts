import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { type DesiredPods, mergeSnapshot, NO_PODS } from './desired-pods.ts';

function pod(uid: string, changes: Partial<Pod['metadata']> = {}, image = 'busybox'): Pod {
  return {
    metadata: { name: uid, namespace: 'default', uid, ...changes },
    spec: { containers: [{ name: 'main', image }] },
  };
}

const before: DesiredPods = mergeSnapshot(NO_PODS, 'file', { pods: [pod('a'), pod('b')], errors: [] }).desired;

const cases: Record<string, { pods: Pod[]; changes: [op: string, uid: string][]; errors?: number }> = {
  'reports no change for unchanged pods': { pods: [pod('a'), pod('b')], changes: [] },
  'adds new pods': { pods: [pod('a'), pod('b'), pod('c')], changes: [['ADD', 'c']] },
  'removes missing pods': { pods: [pod('a')], changes: [['REMOVE', 'b']] },
  'lists removals before additions': {
    pods: [pod('a'), pod('c')],
    changes: [
      ['REMOVE', 'b'],
      ['ADD', 'c'],
    ],
  },
  'updates changed pods': { pods: [pod('a', {}, 'other'), pod('b')], changes: [['UPDATE', 'a']] },
  'deletes pods with a deletion timestamp': {
    pods: [pod('a', { deletionTimestamp: '2026-01-01T00:00:00Z' }), pod('b')],
    changes: [['DELETE', 'a']],
  },
  'ignores the time when a pod was first seen': {
    pods: [pod('a', { annotations: { 'kubernetes.io/config.seen': 'now' } }), pod('b')],
    changes: [],
  },
  'reconciles a changed status': {
    pods: [{ ...pod('a'), status: { phase: 'Running' } }, pod('b')],
    changes: [['RECONCILE', 'a']],
  },
  'keeps the first of two pods with one name': {
    pods: [pod('a'), pod('b'), pod('c', { name: 'a' })],
    changes: [],
    errors: 1,
  },
};

for (const [name, { pods, changes, errors = 0 }] of Object.entries(cases)) {
  test(`mergeSnapshot() ${name}`, () => {
    const merged = mergeSnapshot(before, 'file', { pods, errors: [] });
    assert.deepEqual(
      merged.changes.map(({ op, pod: { metadata } }) => [op, metadata.uid]),
      changes,
    );
    assert.equal(merged.errors.length, errors);
  });
}

test('mergeSnapshot() does not change pods of another source', () => {
  const merged = mergeSnapshot(before, 'api', { pods: [], errors: [] });
  assert.deepEqual(merged.changes, []);
  assert.deepEqual([...merged.desired.ready], ['file', 'api']);
  assert.equal(merged.desired.bySource.get('file')?.size, 2);
});

test('mergeSnapshot() does not mark a source ready after an incomplete snapshot', () => {
  const merged = mergeSnapshot(NO_PODS, 'file', { pods: [pod('a')], errors: [], incomplete: true });
  assert.deepEqual([...merged.desired.ready], []);
  assert.deepEqual(
    merged.changes.map(({ op }) => op),
    ['ADD'],
  );
});
