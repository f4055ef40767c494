import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../pod/observed-pod.ts';
import {
  type CollectablePod,
  type DeadContainerPolicy,
  excessDeadContainers,
  excessExitedContainers,
  unusedSandboxes,
} from './dead-containers.ts';

/** kubelet's defaults. */
const POLICY: DeadContainerPolicy = { minimumAgeMs: 0, maxPerContainer: 1, maxTotal: undefined };
const NOW = 1_000_000;

type State = ObservedContainer['state'];

/** `main/3` is the third restart of `main`, created 3 s after the start. */
function container(id: string, state: State): ObservedContainer {
  const [name = '', attempt = ''] = id.split('/');
  const ends = { startedAt: 1n, finishedAt: 2n, exitCode: 1, reason: 'Error', message: '' };
  return observedContainer(
    name,
    state === 'exited' ? { state, ...ends } : state === 'running' ? { state, startedAt: 1n } : { state },
    { id, sandboxId: 's/0', restartCount: Number(attempt), createdAt: BigInt(attempt) * 1_000_000_000n },
  );
}

/** Newest first for each name, as observed. */
function podOf(states: Record<string, State>, sandboxes: readonly ObservedSandbox[] = []): ObservedPod {
  const containers = Object.entries(states).map(([id, state]) => container(id, state));
  return { uid: 'u', name: 'web', namespace: 'default', sandboxes, containers, inspectedAt: 0 };
}

function idsOf(dead: readonly { readonly container: ObservedContainer }[]): string[] {
  return dead.map((each) => each.container.id);
}

const ends: Record<string, { states: Record<string, State>; max?: number | undefined; gone: string[] }> = {
  'keeps the last exited one': { states: { 'main/0': 'exited' }, gone: [] },
  'keeps the one before the running one': { states: { 'main/1': 'running', 'main/0': 'exited' }, gone: [] },
  'removes the older of two exited ones': { states: { 'main/1': 'exited', 'main/0': 'exited' }, gone: ['main/0'] },
  'removes the oldest first': {
    states: { 'main/3': 'running', 'main/2': 'exited', 'main/1': 'exited', 'main/0': 'exited' },
    gone: ['main/0', 'main/1'],
  },
  'counts each name separately': {
    states: { 'main/1': 'exited', 'side/0': 'exited', 'main/0': 'exited' },
    gone: ['main/0'],
  },
  'keeps created and unknown ones': {
    states: { 'main/2': 'created', 'main/1': 'unknown', 'main/0': 'exited' },
    gone: [],
  },
  'keeps as many as allowed': {
    states: { 'main/1': 'exited', 'main/0': 'exited' },
    max: 2,
    gone: [],
  },
  'keeps one when none is allowed': { states: { 'main/1': 'exited', 'main/0': 'exited' }, max: 0, gone: ['main/0'] },
  'keeps one without a limit': {
    states: { 'main/1': 'exited', 'main/0': 'exited' },
    max: undefined,
    gone: ['main/0'],
  },
};

for (const [name, { states, gone, ...limit }] of Object.entries(ends)) {
  test(`excessExitedContainers() ${name}`, () => {
    const maxPerContainer = 'max' in limit ? limit.max : 1;
    assert.deepEqual(idsOf(excessExitedContainers(podOf(states), { ...POLICY, maxPerContainer })), gone);
  });
}

interface Round {
  readonly pods: readonly (readonly [live: boolean, states: Record<string, State>])[];
  readonly policy?: Partial<DeadContainerPolicy>;
  readonly gone: readonly string[];
}

const THREE: Record<string, State> = { 'main/2': 'exited', 'main/1': 'exited', 'main/0': 'exited' };

const rounds: Record<string, Round> = {
  'removes nothing of a healthy pod': { pods: [[true, { 'main/0': 'running' }]], gone: [] },
  'removes all but one of a name, oldest first': { pods: [[true, THREE]], gone: ['main/0', 'main/1'] },
  'removes a created one if a newer one exists': {
    pods: [[true, { 'main/2': 'exited', 'main/1': 'created' }]],
    gone: ['main/1'],
  },
  'does not count one that is about to start': {
    pods: [[true, { 'main/2': 'created', 'main/1': 'exited' }]],
    gone: [],
  },
  'keeps the one before one that could not be started': {
    pods: [[false, { 'main/2': 'created', 'main/1': 'exited', 'main/0': 'created' }]],
    gone: ['main/0'],
  },
  'removes an unknown one if a newer one exists': {
    pods: [[true, { 'main/2': 'exited', 'main/1': 'unknown' }]],
    gone: ['main/1'],
  },
  'keeps the newest of a live pod when none is allowed': {
    pods: [[true, { 'main/1': 'exited', 'main/0': 'exited' }]],
    policy: { maxPerContainer: 0 },
    gone: ['main/0'],
  },
  'removes the one before the running one when none is allowed': {
    pods: [[true, { 'main/1': 'running', 'main/0': 'exited' }]],
    policy: { maxPerContainer: 0 },
    gone: ['main/0'],
  },
  'removes the last one of a finished pod when none is allowed': {
    pods: [[false, { 'main/0': 'exited', 'side/0': 'running' }]],
    policy: { maxPerContainer: 0 },
    gone: ['main/0'],
  },
  'keeps young ones': {
    pods: [[true, THREE]],
    policy: { minimumAgeMs: NOW - 500 },
    gone: [],
  },
  'removes only those that are old enough': {
    pods: [[true, { 'main/5': 'running', ...THREE }]],
    policy: { minimumAgeMs: NOW - 1500 },
    gone: ['main/0'],
  },
  'keeps all without a limit': {
    pods: [[true, THREE]],
    policy: { maxPerContainer: undefined },
    gone: [],
  },
  'keeps as many as the node may have': {
    pods: [[false, THREE]],
    policy: { maxPerContainer: undefined, maxTotal: 3 },
    gone: [],
  },
  'gives every name the same share of the node limit': {
    pods: [[false, { ...THREE, 'side/4': 'exited' }]],
    policy: { maxPerContainer: undefined, maxTotal: 2 },
    gone: ['main/0', 'main/1'],
  },
  'removes by age when one per name is too many': {
    pods: [[false, { 'main/2': 'exited', 'side/1': 'exited', 'third/3': 'exited' }]],
    policy: { maxTotal: 1 },
    gone: ['side/1', 'main/2'],
  },
  'keeps the newest of live pods beyond the node limit': {
    pods: [
      [true, { 'main/1': 'exited' }],
      [false, { 'side/2': 'exited' }],
    ],
    policy: { maxTotal: 0 },
    gone: ['side/2'],
  },
};

for (const [name, { pods, policy, gone }] of Object.entries(rounds)) {
  test(`excessDeadContainers() ${name}`, () => {
    const all = pods.map(([isLive, states]): CollectablePod => ({ pod: podOf(states), isLive }));
    assert.deepEqual(idsOf(excessDeadContainers(all, { ...POLICY, ...policy }, NOW)), gone);
  });
}

function sandbox(attempt: number, ready: boolean): ObservedSandbox {
  return { id: `s/${attempt}`, attempt, ready, createdAt: 0n, hostNetwork: false, ips: [], runtimeHandler: '' };
}

const sandboxes: Record<string, { all: ObservedSandbox[]; states?: Record<string, State>; gone: string[] }> = {
  'keeps the newest, dead or alive': { all: [sandbox(0, false)], gone: [] },
  'returns the older dead ones, oldest first': {
    all: [sandbox(2, true), sandbox(1, false), sandbox(0, false)],
    gone: ['s/0', 's/1'],
  },
  'keeps one that has a container': {
    all: [sandbox(1, true), sandbox(0, false)],
    states: { 'main/0': 'exited' },
    gone: [],
  },
  'keeps one that is ready': { all: [sandbox(1, false), sandbox(0, true)], gone: [] },
};

for (const [name, { all, states = {}, gone }] of Object.entries(sandboxes)) {
  test(`unusedSandboxes() ${name}`, () => {
    assert.deepEqual(
      unusedSandboxes(podOf(states, all)).map(({ id }) => id),
      gone,
    );
  });
}
