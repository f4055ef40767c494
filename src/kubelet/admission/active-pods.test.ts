import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodWorkerState } from '../workers/pod-worker-state.ts';
import { type AdmittedPod, activePods, otherPods } from './active-pods.ts';

function podOf(uid: string, name = 'web', namespace = 'default'): Pod {
  return { metadata: { uid, name, namespace }, spec: { containers: [] } };
}

function worker(phase: PodWorkerState['phase'], more: Partial<AdmittedPod> = {}): AdmittedPod {
  const state = phase === 'terminating' ? { phase, graceSeconds: 30 } : { phase };
  return { pod: podOf('one'), state, removed: false, successor: undefined, ...more };
}

function activeUids(...workers: AdmittedPod[]): string[] {
  return activePods(workers, new Map()).map(({ metadata }) => metadata.uid);
}

test('activePods() counts a pod of a source until it has terminated', () => {
  for (const phase of ['waiting', 'syncing', 'terminating'] as const) {
    assert.deepEqual(activeUids(worker(phase)), ['one'], phase);
  }
  for (const phase of ['terminated', 'finished'] as const) assert.deepEqual(activeUids(worker(phase)), [], phase);
});

test('activePods() does not count a pod that left its source', () => {
  for (const phase of ['terminating', 'terminated', 'finished'] as const) {
    assert.deepEqual(activeUids(worker(phase, { removed: true })), [], phase);
  }
});

test('activePods() counts a pod that came back under its UID while the former one terminates', () => {
  const pod = podOf('one');
  for (const phase of ['terminating', 'terminated', 'finished'] as const) {
    assert.deepEqual(activePods([worker(phase, { removed: true, successor: pod })], new Map()), [pod], phase);
  }
});

test('activePods() does not count a pod that was over before, unless something of it runs', () => {
  const over = worker('terminating', { pod: { ...podOf('one'), status: { phase: 'Failed' } } });
  const sandbox = { id: 's', attempt: 0, createdAt: 0n, hostNetwork: false, ips: [], runtimeHandler: '' };
  const seen = (ready: boolean) => new Map([['one', { sandboxes: [{ ...sandbox, ready }], containers: [] }]]);
  assert.deepEqual(activePods([over], new Map()), []);
  assert.deepEqual(activePods([over], seen(false)), []);
  assert.deepEqual(activePods([over], seen(true)), [over.pod]);
});

test('otherPods() leaves out the pods of the same full name', () => {
  const elsewhere = podOf('two', 'web', 'system');
  const other = podOf('three', 'other');
  assert.deepEqual(otherPods(podOf('new'), [podOf('one'), elsewhere, other]), [elsewhere, other]);
});
