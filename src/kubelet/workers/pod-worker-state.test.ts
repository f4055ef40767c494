import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextState, type PodWorkerEvent, type PodWorkerState } from './pod-worker-state.ts';

const terminating: PodWorkerState = { phase: 'terminating', graceSeconds: 30 };

const cases: Record<string, { state: PodWorkerState; event: PodWorkerEvent; next: PodWorkerState }> = {
  'starts a pod that is unblocked': {
    state: { phase: 'waiting' },
    event: { type: 'unblocked' },
    next: { phase: 'syncing' },
  },
  'terminates a pod that never started': {
    state: { phase: 'waiting' },
    event: { type: 'killRequested', graceSeconds: 5 },
    next: { phase: 'terminating', graceSeconds: 5 },
  },
  'terminates a syncing pod': {
    state: { phase: 'syncing' },
    event: { type: 'killRequested', graceSeconds: 30 },
    next: terminating,
  },
  'terminates a pod whose containers have exited': {
    state: { phase: 'syncing' },
    event: { type: 'podEnded', graceSeconds: 30 },
    next: terminating,
  },
  'shortens the grace period': {
    state: terminating,
    event: { type: 'killRequested', graceSeconds: 2 },
    next: { phase: 'terminating', graceSeconds: 2 },
  },
  'never lengthens the grace period': {
    state: terminating,
    event: { type: 'killRequested', graceSeconds: 60 },
    next: terminating,
  },
  'grants at least one second': {
    state: terminating,
    event: { type: 'killRequested', graceSeconds: 0 },
    next: { phase: 'terminating', graceSeconds: 1 },
  },
  'does not start a terminating pod': { state: terminating, event: { type: 'unblocked' }, next: terminating },
  'is terminated when no container runs': {
    state: terminating,
    event: { type: 'containersStopped' },
    next: { phase: 'terminated' },
  },
  'ignores a kill of a terminated pod': {
    state: { phase: 'terminated' },
    event: { type: 'killRequested', graceSeconds: 1 },
    next: { phase: 'terminated' },
  },
  'is finished when all resources are released': {
    state: { phase: 'terminated' },
    event: { type: 'resourcesReleased' },
    next: { phase: 'finished' },
  },
  'ignores stopped containers while syncing': {
    state: { phase: 'syncing' },
    event: { type: 'containersStopped' },
    next: { phase: 'syncing' },
  },
};

for (const [name, { state, event, next }] of Object.entries(cases)) {
  test(`nextState() ${name}`, () => assert.deepEqual(nextState(state, event), next));
}

const ORDER = ['waiting', 'syncing', 'terminating', 'terminated', 'finished'];

test('nextState() never moves back to an earlier phase, nor lengthens a grace period', () => {
  const grace = fc.integer({ min: -5, max: 100 });
  const event = fc.oneof(
    fc.record({ type: fc.constantFrom('killRequested' as const, 'podEnded' as const), graceSeconds: grace }),
    fc.record({
      type: fc.constantFrom('unblocked' as const, 'containersStopped' as const, 'resourcesReleased' as const),
    }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20 }), (events) => {
      let state: PodWorkerState = { phase: 'waiting' };
      for (const each of events) {
        const next = nextState(state, each);
        assert.ok(ORDER.indexOf(next.phase) >= ORDER.indexOf(state.phase));
        if (state.phase === 'terminating' && next.phase === 'terminating') {
          assert.ok(next.graceSeconds <= state.graceSeconds && next.graceSeconds >= 1);
        }
        state = next;
      }
    }),
  );
});
