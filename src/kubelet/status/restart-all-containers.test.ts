/** How a pod is shown whose containers all begin anew, from the end that is the cause to the new beginning. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerStatus, PodCondition, PodStatus } from '../../api/generated/core-v1.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedContainer, ObservedContainerState } from '../pod/observed-pod.ts';
import { computePodStatus } from './compute-pod-status.ts';
import { podStatusView } from './pod-status-view.fixture.ts';
import { isRestartingAll } from './restart-all-containers.ts';

const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
const web: Container = { name: 'web', image: 'busybox' };
const worker: Container = { name: 'worker', image: 'busybox', restartPolicy: 'Never', restartPolicyRules: [rule] };
const init: Container = { name: 'init', image: 'busybox' };

const running: ObservedContainerState = { state: 'running', startedAt: 5_000_000_000n };

function exited(exitCode: number): ObservedContainerState {
  const times = { startedAt: 5_000_000_000n, finishedAt: 6_000_000_000n };
  return { state: 'exited', ...times, exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', message: '' };
}

function seen(name: string, state: ObservedContainerState, restartCount = 0): ObservedContainer {
  return observedContainer(name, state, { id: `${name}-${restartCount}`, restartCount });
}

function shown(containers: readonly ObservedContainer[], previous?: PodStatus): PodStatus {
  const view = podStatusView({
    pod: {
      metadata: { name: 'p', namespace: 'default', uid: 'u', generation: 2 },
      spec: { restartPolicy: 'Never', initContainers: [init], containers: [web, worker] },
    },
    observed: { uid: 'u', name: 'p', namespace: 'default', sandboxes: [], containers, inspectedAt: 0 },
    previous,
  });
  return computePodStatus(view);
}

function condition({ conditions }: PodStatus): PodCondition | undefined {
  return conditions?.find(({ type }) => type === 'AllContainersRestarting');
}

function initialized({ conditions }: PodStatus): string | undefined {
  return conditions?.find(({ type }) => type === 'Initialized')?.status;
}

type Facts = Pick<ContainerStatus, 'name' | 'state' | 'lastState' | 'restartCount'>;

function facts({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): Facts[] {
  return [...initContainerStatuses, ...containerStatuses].map(({ name, state, lastState, restartCount }) => ({
    name,
    state,
    lastState,
    restartCount,
  }));
}

const message = 'The container is removed because RestartAllContainers in place';
const removed = {
  state: { waiting: { reason: 'RestartingAllContainers', message } },
  lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers', message } },
};
const off = { type: 'AllContainersRestarting', status: 'False', lastTransitionTime: '1970-01-01T00:00:00Z' };
const on = {
  ...off,
  status: 'True',
  reason: 'RestartAllContainersStarted',
  message: 'container exited with restart policy rule',
};

const before = shown([seen('web', running), seen('worker', running), seen('init', exited(0))]);
const afterExit = shown([seen('web', running), seen('worker', exited(42)), seen('init', exited(0))], before);
const halfRemoved = shown([seen('worker', exited(42))], afterExit);
const cleared = shown([], halfRemoved);
const begun = shown([seen('init', running, 1)], cleared);
const initAgain = shown([seen('init', exited(0), 1)], begun);
const again = shown([seen('web', running, 1), seen('worker', running, 1), seen('init', exited(0), 1)], initAgain);

test('a pod with a RestartAllContainers rule has the condition with status False, without a generation', () => {
  assert.deepEqual(condition(before), off);
  assert.equal(before.conditions?.at(-1)?.type, 'AllContainersRestarting');
});

test('a pod whose containers all must restart has the condition, and runs', () => {
  assert.deepEqual(condition(afterExit), on);
  assert.equal(isRestartingAll(afterExit), true);
  assert.equal(afterExit.phase, 'Running');
});

test('the condition stays until the last container is removed', () => {
  assert.deepEqual(condition(halfRemoved), on);
  const targetsOnly = shown([seen('web', exited(137))], afterExit);
  assert.deepEqual(condition(targetsOnly), on);
});

test('containers that are removed wait, count a restart, and the pod still runs', () => {
  assert.deepEqual(facts(halfRemoved), [
    { name: 'init', ...removed, restartCount: 1 },
    { name: 'web', ...removed, restartCount: 1 },
    { ...facts(afterExit).at(2) },
  ]);
  assert.deepEqual(condition(cleared), off);
  assert.equal(cleared.phase, 'Running');
  assert.equal(initialized(cleared), 'True');
  const waiting = { state: { waiting: { reason: 'PodInitializing' } }, lastState: removed.lastState };
  assert.deepEqual(facts(cleared), [
    { name: 'init', ...waiting, restartCount: 1 },
    { name: 'web', ...waiting, restartCount: 1 },
    { name: 'worker', ...removed, restartCount: 1 },
  ]);
});

test('a restarted pod is pending while an init container runs, and stays initialized', () => {
  assert.equal(begun.phase, 'Pending');
  assert.equal(initialized(begun), 'True');
});

test('restarted containers show why they ended', () => {
  const runs = { state: { running: { startedAt: '1970-01-01T00:00:05Z' } }, lastState: removed.lastState };
  assert.deepEqual(facts(again).slice(1), [
    { name: 'web', ...runs, restartCount: 1 },
    { name: 'worker', ...runs, restartCount: 1 },
  ]);
  assert.equal(again.phase, 'Running');
  assert.deepEqual(condition(again), off);
});

test('a container of unknown state that ran ends for that reason', () => {
  const status = shown([seen('web', { state: 'unknown' }), seen('worker', exited(42))], before);
  assert.deepEqual(status.containerStatuses?.[0]?.state?.terminated, {
    exitCode: 137,
    reason: 'RestartingAllContainers',
    message: 'The container could not be located when the pod was terminated',
  });
});

test('a new end that no rule names does not hide one that was shown', () => {
  assert.deepEqual(condition(shown([seen('worker', exited(1), 1)], { containerStatuses: [ended('worker', 42)] })), on);
});

function ended(name: string, exitCode: number): ContainerStatus {
  return { name, image: '', imageID: '', ready: false, restartCount: 0, state: { terminated: { exitCode } } };
}

const over: Record<string, { exits: [web: number, worker: number]; phase: string; reason: string }> = {
  'has succeeded': { exits: [0, 0], phase: 'Succeeded', reason: 'PodCompleted' },
  'has failed': { exits: [1, 0], phase: 'Failed', reason: 'PodFailed' },
};

for (const [name, { exits, phase, reason }] of Object.entries(over)) {
  test(`a pod that ${name} restarts nothing`, () => {
    const containers = [seen('web', exited(exits[0])), seen('worker', exited(exits[1])), seen('init', exited(0))];
    const status = shown(containers, before);
    assert.equal(status.phase, phase);
    assert.deepEqual(condition(status), { ...off, reason });
  });
}

test('a pod without such a rule has no such condition', () => {
  const pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { containers: [web] } };
  const { conditions } = computePodStatus(podStatusView({ pod }));
  assert.ok(!conditions?.some(({ type }) => type === 'AllContainersRestarting'));
});
