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

/** `main/3` was the third restart of `main`, and was made 3 s after the beginning. */
function container(id: string, state: State): ObservedContainer {
  const [name = '', attempt = ''] = id.split('/');
  const ends = { startedAt: 1n, finishedAt: 2n, exitCode: 1, reason: 'Error', message: '' };
  return observedContainer(
    name,
    state === 'exited' ? { state, ...ends } : state === 'running' ? { state, startedAt: 1n } : { state },
    { id, sandboxId: 's/0', restartCount: Number(attempt), createdAt: BigInt(attempt) * 1_000_000_000n },
  );
}

/** Newest first under each name, as they are observed. */
function podOf(states: Record<string, State>, sandboxes: readonly ObservedSandbox[] = []): ObservedPod {
  const containers = Object.entries(states).map(([id, state]) => container(id, state));
  return { uid: 'u', name: 'web', namespace: 'default', sandboxes, containers, inspectedAt: 0 };
}

function idsOf(dead: readonly { readonly container: ObservedContainer }[]): string[] {
  return dead.map((each) => each.container.id);
}

const ends: Record<string, { states: Record<string, State>; max?: number | undefined; gone: string[] }> = {
  'leaves the one that has just ended': { states: { 'main/0': 'exited' }, gone: [] },
  'leaves the one before the running one': { states: { 'main/1': 'running', 'main/0': 'exited' }, gone: [] },
  'takes the older of two that have ended': { states: { 'main/1': 'exited', 'main/0': 'exited' }, gone: ['main/0'] },
  'takes the oldest first': {
    states: { 'main/3': 'running', 'main/2': 'exited', 'main/1': 'exited', 'main/0': 'exited' },
    gone: ['main/0', 'main/1'],
  },
  'counts each name by itself': {
    states: { 'main/1': 'exited', 'side/0': 'exited', 'main/0': 'exited' },
    gone: ['main/0'],
  },
  'leaves what was made or is not known': {
    states: { 'main/2': 'created', 'main/1': 'unknown', 'main/0': 'exited' },
    gone: [],
  },
  'leaves more where more are allowed': {
    states: { 'main/1': 'exited', 'main/0': 'exited' },
    max: 2,
    gone: [],
  },
  'leaves one where none is allowed': { states: { 'main/1': 'exited', 'main/0': 'exited' }, max: 0, gone: ['main/0'] },
  'leaves one where there is no limit': {
    states: { 'main/1': 'exited', 'main/0': 'exited' },
    max: undefined,
    gone: ['main/0'],
  },
};

for (const [name, { states, gone, ...limit }] of Object.entries(ends)) {
  test(`endedTooMany() ${name}`, () => {
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
  'leaves a healthy pod alone': { pods: [[true, { 'main/0': 'running' }]], gone: [] },
  'takes all but one under a name, oldest first': { pods: [[true, THREE]], gone: ['main/0', 'main/1'] },
  'takes what was never started behind the newest': {
    pods: [[true, { 'main/2': 'exited', 'main/1': 'created' }]],
    gone: ['main/1'],
  },
  'does not count what is about to start': { pods: [[true, { 'main/2': 'created', 'main/1': 'exited' }]], gone: [] },
  'leaves what ended before one that could not be started': {
    pods: [[false, { 'main/2': 'created', 'main/1': 'exited', 'main/0': 'created' }]],
    gone: ['main/0'],
  },
  'takes what is in an unknown state behind the newest': {
    pods: [[true, { 'main/2': 'exited', 'main/1': 'unknown' }]],
    gone: ['main/1'],
  },
  'leaves the newest of a live pod where none is allowed': {
    pods: [[true, { 'main/1': 'exited', 'main/0': 'exited' }]],
    policy: { maxPerContainer: 0 },
    gone: ['main/0'],
  },
  'takes the one before the running one where none is allowed': {
    pods: [[true, { 'main/1': 'running', 'main/0': 'exited' }]],
    policy: { maxPerContainer: 0 },
    gone: ['main/0'],
  },
  'takes the last of a pod that is over where none is allowed': {
    pods: [[false, { 'main/0': 'exited', 'side/0': 'running' }]],
    policy: { maxPerContainer: 0 },
    gone: ['main/0'],
  },
  'leaves what was made too recently': {
    pods: [[true, THREE]],
    policy: { minimumAgeMs: NOW - 500 },
    gone: [],
  },
  'takes only what is old enough': {
    pods: [[true, { 'main/5': 'running', ...THREE }]],
    policy: { minimumAgeMs: NOW - 1500 },
    gone: ['main/0'],
  },
  'leaves all where there is no limit': {
    pods: [[true, THREE]],
    policy: { maxPerContainer: undefined },
    gone: [],
  },
  'leaves as many as the node may have': {
    pods: [[false, THREE]],
    policy: { maxPerContainer: undefined, maxTotal: 3 },
    gone: [],
  },
  'gives every name the same share of what the node may have': {
    pods: [[false, { ...THREE, 'side/4': 'exited' }]],
    policy: { maxPerContainer: undefined, maxTotal: 2 },
    gone: ['main/0', 'main/1'],
  },
  'goes by age where one for each name is too many': {
    pods: [[false, { 'main/2': 'exited', 'side/1': 'exited', 'third/3': 'exited' }]],
    policy: { maxTotal: 1 },
    gone: ['side/1', 'main/2'],
  },
  'leaves the newest of live pods beyond what the node may have': {
    pods: [
      [true, { 'main/1': 'exited' }],
      [false, { 'side/2': 'exited' }],
    ],
    policy: { maxTotal: 0 },
    gone: ['side/2'],
  },
};

for (const [name, { pods, policy, gone }] of Object.entries(rounds)) {
  test(`deadTooMany() ${name}`, () => {
    const all = pods.map(([isLive, states]): CollectablePod => ({ pod: podOf(states), isLive }));
    assert.deepEqual(idsOf(excessDeadContainers(all, { ...POLICY, ...policy }, NOW)), gone);
  });
}

function sandbox(attempt: number, ready: boolean): ObservedSandbox {
  return { id: `s/${attempt}`, attempt, ready, createdAt: 0n, hostNetwork: false, ips: [], runtimeHandler: '' };
}

const sandboxes: Record<string, { all: ObservedSandbox[]; states?: Record<string, State>; gone: string[] }> = {
  'keeps the newest, dead or alive': { all: [sandbox(0, false)], gone: [] },
  'names the dead ones before it, oldest first': {
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
  test(`sandboxesOfThePast() ${name}`, () => {
    assert.deepEqual(
      unusedSandboxes(podOf(states, all)).map(({ id }) => id),
      gone,
    );
  });
}
