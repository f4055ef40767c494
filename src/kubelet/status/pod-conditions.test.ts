import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerStatus, PodCondition } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { READY_SANDBOX as sandbox } from '../pod/observed-container.fixture.ts';
import type { ObservedSandbox } from '../pod/observed-pod.ts';
import { type ConditionsView, podConditions } from './pod-conditions.ts';

const NOW = '2026-01-01T00:01:00Z';
const EARLIER = '2026-01-01T00:00:00Z';

const web: Container = { name: 'web', image: 'busybox' };
const first: Container = { name: 'first', image: 'busybox' };
const side: Container = { name: 'side', image: 'busybox', restartPolicy: 'Always' };

function shown(name: string, changes: Partial<ContainerStatus> = {}): ContainerStatus {
  const state = { running: { startedAt: EARLIER } };
  return { name, image: '', imageID: '', restartCount: 0, ready: true, started: true, state, ...changes };
}

const waits = { state: { waiting: { reason: 'ContainerCreating' } }, ready: false, started: false };

const healthy: ConditionsView = {
  pod: { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { containers: [web] } },
  observed: { uid: 'u', name: 'p', namespace: 'default', sandboxes: [sandbox], containers: [], inspectedAt: 0 },
  statuses: { init: [], regular: [shown('web')], ephemeral: [] },
  phase: 'Running',
  previous: undefined,
  nowMs: parseTime(NOW),
};

function withSpec(spec: Partial<ConditionsView['pod']['spec']>): Pick<ConditionsView, 'pod'> {
  return { pod: { ...healthy.pod, spec: { ...healthy.pod.spec, ...spec } } };
}

function withSandboxes(...sandboxes: ObservedSandbox[]): Pick<ConditionsView, 'observed'> {
  return { observed: { uid: 'u', name: 'p', namespace: 'default', sandboxes, containers: [], inspectedAt: 0 } };
}

const T = { status: 'True' };
const F = { status: 'False' };
const unready = (names: string) => ({
  status: 'False',
  reason: 'ContainersNotReady',
  message: `containers with unready status: [${names}]`,
});
const incomplete = (names: string) => ({
  status: 'False',
  reason: 'ContainersNotInitialized',
  message: `containers with incomplete status: [${names}]`,
});

const allTrue = { PodReadyToStartContainers: T, Initialized: T, Ready: T, ContainersReady: T, PodScheduled: T };

/** A healthy pod, one change, and what changes in its conditions. */
const cases: Record<string, { given: Partial<ConditionsView>; differs: Record<string, Partial<PodCondition>> }> = {
  'are all true for a healthy pod': { given: {}, differs: {} },
  'name the containers that are not ready, sidecars first, in the order of the spec': {
    given: {
      ...withSpec({ initContainers: [side], containers: [web, { ...web, name: 'api' }] }),
      statuses: {
        init: [shown('side', { ready: false })],
        regular: [shown('api', waits), shown('web', { ready: false })],
        ephemeral: [],
      },
    },
    differs: { Ready: unready('side web api'), ContainersReady: unready('side web api') },
  },
  'name the init containers that are not done': {
    given: {
      ...withSpec({ initContainers: [first, side] }),
      statuses: {
        init: [shown('first', { ready: false }), shown('side', waits)],
        regular: [shown('web', waits)],
        ephemeral: [],
      },
      phase: 'Pending',
    },
    differs: {
      Initialized: incomplete('first side'),
      Ready: unready('side web'),
      ContainersReady: unready('side web'),
    },
  },
  'count a sidecar as initialized once it has started, ready or not': {
    given: {
      ...withSpec({ initContainers: [side] }),
      statuses: { init: [shown('side', { ready: false })], regular: [shown('web', waits)], ephemeral: [] },
      phase: 'Pending',
    },
    differs: { Ready: unready('side web'), ContainersReady: unready('side web') },
  },
  'stay initialized while a sidecar restarts': {
    given: {
      ...withSpec({ initContainers: [side] }),
      statuses: { init: [shown('side', waits)], regular: [shown('web')], ephemeral: [] },
    },
    differs: { Ready: unready('side'), ContainersReady: unready('side') },
  },
  'say that a pod has completed': {
    given: { phase: 'Succeeded' },
    differs: {
      Initialized: { ...T, reason: 'PodCompleted' },
      Ready: { ...F, reason: 'PodCompleted' },
      ContainersReady: { ...F, reason: 'PodCompleted' },
    },
  },
  'say that a pod has failed, though its containers are still ready': {
    given: { phase: 'Failed' },
    differs: { Ready: { ...F, reason: 'PodFailed' }, ContainersReady: { ...F, reason: 'PodFailed' } },
  },
  'want a sandbox': { given: { observed: undefined }, differs: { PodReadyToStartContainers: F } },
  'want the newest sandbox to be ready': {
    given: withSandboxes({ ...sandbox, ready: false }),
    differs: { PodReadyToStartContainers: F },
  },
  'want one ready sandbox only': {
    given: withSandboxes(sandbox, { ...sandbox, id: 's1' }),
    differs: { PodReadyToStartContainers: F },
  },
  'want the sandbox to have an address': {
    given: withSandboxes({ ...sandbox, ips: [] }),
    differs: { PodReadyToStartContainers: F },
  },
  'want no address on the network of the host': {
    given: { ...withSpec({ hostNetwork: true }), ...withSandboxes({ ...sandbox, hostNetwork: true, ips: [] }) },
    differs: {},
  },
  'want the network that the spec asks for': {
    given: withSpec({ hostNetwork: true }),
    differs: { PodReadyToStartContainers: F },
  },
  'are not ready before a readiness gate is': {
    given: withSpec({ readinessGates: [{ conditionType: 'example.com/lb' }] }),
    differs: {
      Ready: {
        ...F,
        reason: 'ReadinessGatesNotReady',
        message: 'corresponding condition of pod readiness gate "example.com/lb" does not exist.',
      },
    },
  },
};

for (const [name, { given, differs }] of Object.entries(cases)) {
  test(`podConditions() ${name}`, () => {
    const expected = Object.entries({ ...allTrue, ...differs }).map(([type, value]) => ({
      type,
      ...value,
      lastTransitionTime: NOW,
    }));
    assert.deepEqual(podConditions({ ...healthy, ...given }), expected);
  });
}

test('podConditions() keep the time of unchanged conditions, and have the generation', () => {
  const previous = {
    conditions: [
      { type: 'Ready', status: 'True', lastTransitionTime: EARLIER },
      { type: 'ContainersReady', status: 'False', lastTransitionTime: EARLIER },
    ],
  };
  const pod = { ...healthy.pod, metadata: { ...healthy.pod.metadata, generation: 3 } };
  const conditions = podConditions({ ...healthy, pod, previous });
  assert.deepEqual(conditions.slice(2, 4), [
    { type: 'Ready', status: 'True', observedGeneration: 3, lastTransitionTime: EARLIER },
    { type: 'ContainersReady', status: 'True', observedGeneration: 3, lastTransitionTime: NOW },
  ]);
});

test('podConditions() put the conditions of other components first, and look at the readiness gates there', () => {
  const gate: PodCondition = { type: 'example.com/lb', status: 'False' };
  const disruption: PodCondition = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
  const { pod } = withSpec({ readinessGates: [{ conditionType: gate.type }] });
  const conditions = podConditions({
    ...healthy,
    pod: { ...pod, status: { conditions: [gate, { type: 'Ready', status: 'True' }] } },
    previous: { conditions: [disruption] },
  });
  assert.deepEqual(conditions.slice(0, 2), [gate, disruption]);
  assert.deepEqual(
    conditions.find(({ type }) => type === 'Ready')?.message,
    'the status of pod readiness gate "example.com/lb" is not "True", but False',
  );
});

test('podConditions() have the disruption by the node, with its time', () => {
  const failure = { phase: 'Failed', reason: 'Evicted', message: 'low on memory', disruption: true } as const;
  const first = podConditions({ ...healthy, failure });
  const disruption = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: 'low on memory',
    lastTransitionTime: NOW,
  };
  assert.deepEqual(first[0], disruption);
  const later = podConditions({
    ...healthy,
    failure,
    previous: { conditions: first },
    nowMs: healthy.nowMs + 60_000,
  });
  assert.deepEqual(later[0], disruption);
});
