import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import { PodError } from '../pod/pod-error.ts';
import type { PodPlan } from './pod-plan.ts';
import { StartProgress } from './start-progress.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: ['a', 'b'].map((name) => ({ name, image: 'busybox' })) },
};
const start = ['a', 'b'].map((name) => ({ name, role: 'main' }) as const);
const FIRST: PodPlan = { kind: 'newSandbox', attempt: 0, reason: 'none yet', start };

/** Records what is published and probed, as container ids, and the start results. */
function watched(...ids: string[]) {
  // No other fields are read.
  const containers = ids.map((id) => ({ id, name: id.slice(0, 1) }) as ObservedContainer);
  const seen: ObservedPod = { ...pod.metadata, sandboxes: [], containers, inspectedAt: 0 };
  const shown: string[] = [];
  const idsOf = (given: ObservedPod | undefined): string => given?.containers.map(({ id }) => id).join(' ') ?? '';
  const life = new AbortController();
  let isThere = false;
  const starting = new StartProgress({
    observed: {
      get: () => (isThere ? seen : undefined),
      refresh: async () => {
        shown.push('inspect');
        return seen;
      },
    },
    probes: { follow: (_, given) => void shown.push(`probe ${idsOf(given)}`) },
    publisher: {
      recordStartResult: (_, name, failure) => void shown.push(`${name} ${failure?.reason ?? 'started'}`),
      publishInterim: (_, given) => void shown.push(`show ${idsOf(given)}`),
    },
  });
  const appear = (): void => {
    isThere = true;
    starting.onPodObserved('u');
  };
  return { starting, shown, life, appear };
}

test('a container is published and probed when its start has completed, the last one by its worker', () => {
  const { starting, shown, life, appear } = watched('a1', 'b1');
  starting.begin(pod, FIRST, life.signal);
  appear();
  starting.onStartAttempt(pod, 'b', undefined);
  starting.onStartAttempt(pod, 'a', new PodError('RunContainerError', 'no'));
  starting.onPodObserved('u');
  assert.deepEqual(shown, ['probe ', 'show ', 'b started', 'probe b1', 'show b1', 'a RunContainerError']);
});

test('containers from before the sync are always published', () => {
  const { starting, shown, life, appear } = watched('a1', 'b1');
  appear();
  starting.begin(pod, { kind: 'adjust', kill: [], start }, life.signal);
  starting.onPodObserved('u');
  assert.deepEqual(shown, ['probe a1 b1', 'show a1 b1']);
});

test('a container that the sync stops to start it again is published as it was before, and not probed so', () => {
  const shown: unknown[] = [];
  const at = (state: object): ObservedPod => ({
    ...pod.metadata,
    sandboxes: [],
    containers: [{ id: 'a1', name: 'a', ...state } as ObservedContainer], // no other fields are read
    inspectedAt: 0,
  });
  const [running, exited] = [at({ state: 'running', startedAt: 1n }), at({ state: 'exited', startedAt: 1n })];
  let seen = running;
  const starting = new StartProgress({
    observed: { get: () => seen, refresh: async () => seen },
    probes: { follow: (_, given) => void shown.push(['probe', given]) },
    publisher: { recordStartResult: () => {}, publishInterim: (_, given) => void shown.push(['show', given]) },
  });
  starting.begin(pod, { kind: 'adjust', kill: [], start }, new AbortController().signal);
  seen = exited;
  starting.onPodObserved('u');
  starting.onStartAttempt(pod, 'a', new PodError('ErrImagePull', 'no'));
  assert.deepEqual(shown, [
    ['probe', exited],
    ['show', running],
    ['probe', exited],
    ['show', exited],
  ]);
});

test('nothing is published for an aborted sync', () => {
  const { starting, shown, life, appear } = watched('a1', 'b1');
  starting.begin(pod, FIRST, life.signal);
  life.abort();
  appear();
  starting.onStartAttempt(pod, 'a', undefined);
  assert.deepEqual(shown, ['a started']);
});

test('nothing is published while a sandbox is replaced', () => {
  const { starting, shown, life, appear } = watched('a1', 'b1');
  starting.begin(pod, { kind: 'newSandbox', attempt: 1, reason: 'not ready', start }, life.signal);
  appear();
  assert.deepEqual(shown, []);
});

test('nothing is published after the sync', () => {
  const { starting, shown, life, appear } = watched('a1', 'b1');
  starting.begin(pod, FIRST, life.signal);
  starting.end('u');
  appear();
  assert.deepEqual(shown, []);
});

const withHook: Pod = {
  ...pod,
  spec: { containers: [{ name: 'a', image: 'busybox', lifecycle: { postStart: { sleep: { seconds: 1 } } } }] },
};
const inspections: Record<string, { of: Pod; plan: PodPlan; attempted: string[]; shown: string[] }> = {
  'while another one starts': { of: pod, plan: FIRST, attempted: [], shown: ['inspect'] },
  'while its hook runs': {
    of: withHook,
    plan: { ...FIRST, start: start.slice(0, 1) },
    attempted: [],
    shown: ['inspect'],
  },
  'while its hook runs in a replaced sandbox': {
    of: withHook,
    plan: { ...FIRST, attempt: 1, reason: 'not ready' },
    attempted: [],
    shown: ['inspect'],
  },
  'not when it is the last: its worker inspects the pod': { of: pod, plan: FIRST, attempted: ['b'], shown: [] },
};

for (const [name, { of, plan, attempted, shown: expected }] of Object.entries(inspections)) {
  test(`a pod is inspected when a container runs, ${name}`, async () => {
    const { starting, shown, life } = watched('a1', 'b1');
    starting.begin(of, plan, life.signal);
    for (const each of attempted) starting.onStartAttempt(of, each, undefined);
    shown.length = 0;
    await starting.onContainerRunning(of, 'a', life.signal);
    assert.deepEqual(shown, expected);
  });
}
