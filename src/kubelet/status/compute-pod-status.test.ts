import assert from 'node:assert/strict';
import { test } from 'node:test';
import minimalJson from '../../../test/data/golden/01-minimal.json' with { type: 'json' };
import resourcesJson from '../../../test/data/golden/02-env-expansion.json' with { type: 'json' };
import initSidecarJson from '../../../test/data/golden/03-init-sidecar.json' with { type: 'json' };
import exitCodesJson from '../../../test/data/golden/04-exit-codes.json' with { type: 'json' };
import volumesJson from '../../../test/data/golden/05-volumes.json' with { type: 'json' };
import missingConfigJson from '../../../test/data/golden/07-missing-config.json' with { type: 'json' };
import imageErrorsJson from '../../../test/data/golden/08-image-errors.json' with { type: 'json' };
import type { ContainerStatus, Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { parseNanoTime, parseTime } from '../../base/rfc3339.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedContainer, ObservedContainerState, ObservedPod } from '../pod/observed-pod.ts';
import { computePodStatus } from './compute-pod-status.ts';
import type { PodStatusView } from './pod-status-view.ts';

/** A recording of what kubelet v1.36.4 wrote for a pod. */
interface Recording {
  readonly case: string;
  readonly pod: Pod;
  readonly status: PodStatus;
}

/** The API server writes times that are not set as null; we leave them out. */
function read(json: unknown): Recording {
  return JSON.parse(JSON.stringify(json), (_, part: unknown) => (part === null ? undefined : part));
}

/** The runtime as it must have been when the recorded status was written. */
function observedIn({ pod, status }: Recording): ObservedPod {
  const { name, namespace, uid } = pod.metadata;
  const ready = status.conditions?.some((each) => each.type === 'PodReadyToStartContainers' && each.status === 'True');
  const ips = status.podIPs?.map(({ ip }) => ip) ?? [];
  const sandbox = { id: 's0', attempt: 0, createdAt: 1n, hostNetwork: false, runtimeHandler: '' };
  const shown = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return {
    uid,
    name,
    namespace,
    sandboxes: [{ ...sandbox, ready: ready ?? false, ips }],
    containers: shown.flatMap((each) => (each.containerID === undefined ? [] : [containerIn(each)])),
    inspectedAt: 0,
  };
}

function containerIn(status: ContainerStatus): ObservedContainer {
  return observedContainer(status.name, stateIn(status), {
    id: status.containerID?.replace('containerd://', '') ?? '',
    restartCount: status.restartCount,
    image: status.image,
    imageRef: status.imageID,
    imageId: status.imageID,
  });
}

function stateIn({ state }: ContainerStatus): ObservedContainerState {
  const time = (text: string | undefined) => parseNanoTime(text ?? '');
  if (state?.running) return { state: 'running', startedAt: time(state.running.startedAt) };
  const { exitCode = 0, reason = '', message = '', startedAt, finishedAt } = state?.terminated ?? {};
  return { state: 'exited', exitCode, reason, message, startedAt: time(startedAt), finishedAt: time(finishedAt) };
}

function viewIn(recording: Recording, changes: Partial<PodStatusView> = {}): PodStatusView {
  const startErrors = (recording.status.containerStatuses ?? []).flatMap(({ name, state }) => {
    const { reason = '', message = '' } = state?.waiting ?? {};
    return state?.waiting ? [[name, { reason, message }] as const] : [];
  });
  return {
    pod: recording.pod,
    observed: observedIn(recording),
    probes: { result: (kind) => (kind === 'startup' ? 'success' : undefined) },
    previous: undefined,
    startErrors: new Map(startErrors),
    failure: undefined,
    worker: 'syncing',
    nowMs: parseTime(recording.status.startTime ?? ''),
    hostIPs: ['192.0.2.1'],
    runtimeName: 'containerd',
    ...changes,
  };
}

const minimal = read(minimalJson);
const initSidecar = read(initSidecarJson);
const exitCodes = read(exitCodesJson);

test('computePodStatus() equals the status of kubelet for 01-minimal', () => {
  assert.deepEqual(computePodStatus(viewIn(minimal)), minimal.status);
});

const base = viewIn(minimal);
const status = computePodStatus(base);
const later = { ...base, nowMs: base.nowMs + 60_000 };

/** The recorded times of changes, for a status that came to be step by step. */
const recordings = [resourcesJson, initSidecarJson, volumesJson, missingConfigJson, imageErrorsJson].map(read);

for (const recording of recordings) {
  test(`computePodStatus() equals the status of kubelet for ${recording.case}`, () => {
    const previous = { conditions: recording.status.conditions };
    assert.deepEqual(computePodStatus(viewIn(recording, { previous })), recording.status);
  });
}

test('computePodStatus() equals the status of kubelet for 04-exit-codes, which has stopped', () => {
  const { conditions, podIPs } = exitCodes.status;
  const { resources: _, ...expected } = exitCodes.status; // read back from a cgroup without a limit
  const { resources: own, ...actual } = computePodStatus(viewIn(exitCodes, { previous: { conditions, podIPs } }));
  assert.deepEqual(own, {});
  assert.deepEqual(actual, expected);
});

test('computePodStatus() is stable without changes', () => {
  assert.deepEqual(computePodStatus({ ...later, previous: status }), status);
});

test('computePodStatus() of a pod that is new', () => {
  const { phase, podIP, startTime, containerStatuses } = computePodStatus({ ...base, observed: undefined });
  assert.deepEqual(
    { phase, podIP, startTime, state: containerStatuses?.[0]?.state },
    {
      phase: 'Pending',
      podIP: undefined,
      startTime: '2026-11-15T09:01:49Z',
      state: { waiting: { reason: 'ContainerCreating' } },
    },
  );
});

test('computePodStatus() never leaves a terminal phase, and keeps what was said of it', () => {
  const previous: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' };
  for (const changes of [{ previous }, { pod: { ...base.pod, status: previous } }]) {
    const { phase, reason, message } = computePodStatus({ ...base, ...changes });
    assert.deepEqual({ phase, reason, message }, previous);
  }
});

test('computePodStatus() of a rejected pod has no container statuses', () => {
  const failure = { phase: 'Failed', reason: 'NodeAffinity', message: 'Pod was rejected: no' } as const;
  const rejected = computePodStatus({ ...base, observed: undefined, failure });
  const expected = { ...failure, qosClass: 'BestEffort', startTime: '2026-11-15T09:01:49Z', observedGeneration: 1 };
  assert.deepEqual(rejected, expected);
  assert.deepEqual(computePodStatus({ ...later, observed: undefined, failure, previous: rejected }), expected);
});

test('computePodStatus() of an evicted pod keeps its container statuses', () => {
  const failure = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' } as const;
  const evicted = computePodStatus({ ...base, failure, previous: status });
  assert.deepEqual(
    { ...evicted, conditions: [] },
    { ...status, phase: 'Failed', reason: 'Evicted', message: 'low on memory', conditions: [] },
  );
});

test('computePodStatus() shows the addresses of the host for a pod on its network', () => {
  const pod = { ...base.pod, spec: { ...base.pod.spec, hostNetwork: true } };
  const { podIP, podIPs, hostIPs } = computePodStatus({ ...base, pod, hostIPs: ['192.0.2.1', 'fd00::1'] });
  const both = [{ ip: '192.0.2.1' }, { ip: 'fd00::1' }];
  assert.deepEqual({ podIP, podIPs, hostIPs }, { podIP: '192.0.2.1', podIPs: both, hostIPs: both });
});

test('computePodStatus() of a terminated pod: a container without an observed exit has failed', () => {
  const { phase, containerStatuses } = computePodStatus({ ...base, observed: undefined, worker: 'terminated' });
  assert.deepEqual(
    { phase, state: containerStatuses?.[0]?.state },
    {
      phase: 'Failed',
      state: {
        terminated: {
          exitCode: 137,
          reason: 'ContainerStatusUnknown',
          message: 'The container could not be located when the pod was terminated',
        },
      },
    },
  );
});

test('computePodStatus() of a terminated pod is the same again', () => {
  const once = computePodStatus({ ...base, observed: undefined, worker: 'terminated', previous: status });
  assert.deepEqual(computePodStatus({ ...later, observed: undefined, worker: 'terminated', previous: once }), once);
});

test('computePodStatus() keeps the phase of a static pod that was terminated before it ran', () => {
  const annotations = { 'kubernetes.io/config.source': 'file' };
  const pod = { ...base.pod, metadata: { ...base.pod.metadata, annotations } };
  const { phase, containerStatuses } = computePodStatus({ ...base, pod, observed: undefined, worker: 'terminated' });
  const state = { waiting: { reason: 'ContainerCreating' } };
  assert.deepEqual({ phase, state: containerStatuses?.[0]?.state }, { phase: 'Pending', state });
});

test('computePodStatus() of a terminated pod: containers that its init containers blocked stay waiting', () => {
  const view = { ...viewIn(initSidecar), observed: undefined, worker: 'terminated' } as const;
  const { initContainerStatuses = [], containerStatuses = [] } = computePodStatus(view);
  const states = [...initContainerStatuses, ...containerStatuses].map(({ name, state }) => [
    name,
    Object.keys(state ?? {}),
  ]);
  assert.deepEqual(states, [
    ['first', ['terminated']],
    ['side', ['waiting']],
    ['second', ['waiting']],
    ['main', ['waiting']],
  ]);
});
