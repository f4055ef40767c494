import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerStatus, Pod, PodSpec } from '../../api/generated/core-v1.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedContainer, ObservedContainerBase, ObservedContainerState } from '../pod/observed-pod.ts';
import { containerStatuses } from './container-statuses.ts';
import type { PodStatusView } from './pod-status-view.ts';

const SECOND = 1_000_000_000n;

const web: Container = { name: 'web', image: 'busybox' };
const first: Container = { name: 'first', image: 'busybox' };
const side: Container = { name: 'side', image: 'busybox', restartPolicy: 'Always' };

const running: ObservedContainerState = { state: 'running', startedAt: 5n * SECOND };
const exited = (exitCode: number, message = ''): ObservedContainerState => ({
  state: 'exited',
  startedAt: 5n * SECOND,
  finishedAt: 7n * SECOND,
  exitCode,
  reason: exitCode ? 'Error' : 'Completed',
  message,
});

function seen(
  name: string,
  state: ObservedContainerState,
  changes: Partial<ObservedContainerBase> = {},
): ObservedContainer {
  return observedContainer(name, state, { image: 'docker.io/library/busybox:latest', ...changes });
}

interface Given {
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: Partial<Pod['metadata']>;
  readonly containers?: readonly ObservedContainer[];
  readonly previous?: readonly ContainerStatus[];
  readonly startError?: { readonly reason: string; readonly message: string };
  readonly worker?: PodStatusView['worker'];
  readonly features?: PodStatusView['features'];
}

/** The status of the container `name` of a pod with the container `web`, changed as given. */
function statusOf(name: string, given: Given): ContainerStatus | undefined {
  const { spec, metadata, containers = [], previous = [], startError, worker = 'syncing', features } = given;
  const view: PodStatusView = {
    pod: {
      metadata: { name: 'p', namespace: 'default', uid: 'u', ...metadata },
      spec: { restartPolicy: 'Always', containers: [web], ...spec },
    },
    observed: { uid: 'u', name: 'p', namespace: 'default', sandboxes: [], containers, inspectedAt: 0 },
    probes: { result: () => undefined },
    previous: undefined,
    startErrors: new Map(startError ? [[name, startError]] : []),
    failure: undefined,
    worker,
    nowMs: 0,
    hostIPs: [],
    runtimeName: 'containerd',
    features,
  };
  const shown = { containerStatuses: previous, initContainerStatuses: previous, ephemeralContainerStatuses: previous };
  const { init, regular, ephemeral } = containerStatuses(view, shown);
  return [...init, ...regular, ...ephemeral].find((status) => status.name === name);
}

const runs: ContainerStatus = {
  name: 'web',
  image: 'docker.io/library/busybox:latest',
  imageID: 'sha256:1',
  containerID: 'containerd://web-0',
  state: { running: { startedAt: '1970-01-01T00:00:05Z' } },
  lastState: {},
  restartCount: 0,
  ready: true,
  started: true,
  resources: {},
};

const waits: ContainerStatus = {
  name: 'web',
  image: 'busybox',
  imageID: '',
  state: { waiting: { reason: 'ContainerCreating' } },
  lastState: {},
  restartCount: 0,
  ready: false,
  started: false,
};

function terminated(exitCode: number, id = 'web-0') {
  return {
    terminated: {
      containerID: `containerd://${id}`,
      exitCode,
      reason: exitCode ? 'Error' : 'Completed',
      startedAt: '1970-01-01T00:00:05Z',
      finishedAt: '1970-01-01T00:00:07Z',
    },
  };
}

const died: ContainerStatus = { ...runs, state: terminated(1), ready: false, started: false };
const backOff = { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=web' };
const lost = (message: string) => ({ terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message } });
const lostWhileRunning =
  'The container could not be located when the pod was deleted.  The container used to be Running';

const cases: Record<string, { given: Given; status: ContainerStatus; of?: string }> = {
  'waits to be made': { given: {}, status: waits },
  'waits for the init containers': {
    given: { spec: { initContainers: [first] } },
    status: { ...waits, state: { waiting: { reason: 'PodInitializing' } } },
  },
  'waits with the reason why it cannot be made': {
    given: { startError: { reason: 'ErrImagePull', message: 'not found' } },
    status: { ...waits, state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } },
  },
  'is made but not started': {
    given: { containers: [seen('web', { state: 'created' })] },
    status: { ...runs, state: { waiting: {} }, ready: false, started: false },
  },
  runs: { given: { containers: [seen('web', running)] }, status: runs },
  'runs, despite an earlier start error': {
    given: { containers: [seen('web', running)], startError: backOff },
    status: runs,
  },
  'shows its resources and mounts once it is made': {
    given: {
      spec: {
        containers: [
          {
            ...web,
            resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
            volumeMounts: [
              { name: 'a', mountPath: '/a' },
              { name: 'b', mountPath: '/b', readOnly: true },
            ],
          },
        ],
      },
      containers: [seen('web', running)],
    },
    status: {
      ...runs,
      resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
      allocatedResources: { cpu: '1' },
      volumeMounts: [
        { name: 'a', mountPath: '/a' },
        { name: 'b', mountPath: '/b', readOnly: true, recursiveReadOnly: 'Disabled' },
      ],
    },
  },
  'shows its user and stop signal, where the runtime reports them': {
    given: {
      containers: [seen('web', running, { user: { uid: 1000, gid: 0 }, stopSignal: 'SIGTERM' })],
      features: { stopSignals: true, recursiveReadOnly: false },
    },
    status: { ...runs, user: { linux: { uid: 1000, gid: 0 } }, stopSignal: 'SIGTERM' },
  },
  'does not show its stop signal while the gate is off': {
    given: { containers: [seen('web', running, { stopSignal: 'SIGTERM' })] },
    status: runs,
  },
  'shows recursively read-only mounts': {
    given: {
      spec: {
        containers: [
          { ...web, volumeMounts: [{ name: 'a', mountPath: '/a', readOnly: true, recursiveReadOnly: 'IfPossible' }] },
        ],
      },
      containers: [seen('web', running)],
      features: { stopSignals: false, recursiveReadOnly: true },
    },
    status: {
      ...runs,
      volumeMounts: [{ name: 'a', mountPath: '/a', readOnly: true, recursiveReadOnly: 'Enabled' }],
    },
  },
  'shows its end until its restart is known': {
    given: { containers: [seen('web', exited(1))] },
    status: died,
  },
  'backs off': {
    given: { containers: [seen('web', exited(1))], startError: backOff },
    status: { ...died, state: { waiting: backOff }, lastState: terminated(1) },
  },
  'backs off as a sidecar': {
    given: { spec: { initContainers: [side] }, containers: [seen('side', exited(1))], startError: backOff },
    of: 'side',
    status: {
      ...died,
      name: 'side',
      containerID: 'containerd://side-0',
      state: { waiting: backOff },
      lastState: terminated(1, 'side-0'),
    },
  },
  'shows a sidecar that ended well as ended also while it backs off, as kubelet does': {
    given: { spec: { initContainers: [side] }, containers: [seen('side', exited(0))], startError: backOff },
    of: 'side',
    status: { ...died, name: 'side', containerID: 'containerd://side-0', state: terminated(0, 'side-0') },
  },
  'does not back off when its policy does not restart it': {
    given: { spec: { restartPolicy: 'Never' }, containers: [seen('web', exited(1))], startError: backOff },
    status: died,
  },
  'does not back off when its pod is being deleted': {
    given: {
      metadata: { deletionTimestamp: '1970-01-01T00:00:09Z' },
      containers: [seen('web', exited(1))],
      startError: backOff,
    },
    status: died,
  },
  'does not back off when its pod ends': {
    given: { worker: 'terminating', containers: [seen('web', exited(1))], startError: backOff },
    status: died,
  },
  'runs again after its end, with the restart count of the runtime': {
    given: { containers: [seen('web', running, { restartCount: 1 }), seen('web', exited(1), { id: 'web-old' })] },
    status: { ...runs, restartCount: 1, lastState: terminated(1, 'web-old') },
  },
  'runs again after its end, as it was last published': {
    given: {
      containers: [seen('web', running, { restartCount: 1 })],
      previous: [{ ...died, containerID: 'containerd://web-old', state: terminated(1, 'web-old') }],
    },
    status: { ...runs, restartCount: 1, lastState: terminated(1, 'web-old') },
  },
  'continues the count where the runtime has lost it': {
    given: {
      containers: [seen('web', running)],
      previous: [{ ...died, restartCount: 4, containerID: 'containerd://web-old', state: terminated(1, 'web-old') }],
    },
    status: { ...runs, restartCount: 5, lastState: terminated(1, 'web-old') },
  },
  'keeps its end after the runtime has removed it': {
    given: { spec: { restartPolicy: 'Never' }, previous: [died] },
    status: died,
  },
  'was lost while it ran': {
    given: { previous: [runs] },
    status: { ...waits, restartCount: 1, lastState: lost(lostWhileRunning) },
  },
  'was lost while it ran, and its pod is being deleted': {
    given: { metadata: { deletionTimestamp: '1970-01-01T00:00:09Z' }, previous: [runs] },
    status: { ...waits, lastState: lost(lostWhileRunning) },
  },
  'is in a state that the runtime does not know, after it ran': {
    given: { containers: [seen('web', { state: 'unknown' })], previous: [runs] },
    status: {
      ...died,
      restartCount: 1,
      state: lost('The container could not be located when the pod was terminated'),
    },
  },
  'is an init container that has succeeded': {
    of: 'first',
    given: { spec: { initContainers: [first] }, containers: [seen('first', exited(0))], startError: backOff },
    status: {
      ...runs,
      name: 'first',
      containerID: 'containerd://first-0',
      state: terminated(0, 'first-0'),
      started: false,
    },
  },
  'is an init container that works': {
    of: 'first',
    given: { spec: { initContainers: [first] }, containers: [seen('first', running)] },
    status: { ...runs, name: 'first', containerID: 'containerd://first-0', ready: false },
  },
  'is an init container that must have done its work': {
    of: 'first',
    given: { spec: { initContainers: [first] }, containers: [seen('web', running)] },
    status: {
      ...waits,
      name: 'first',
      ready: true,
      state: {
        terminated: {
          exitCode: 0,
          reason: 'Completed',
          message:
            'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
        },
      },
    },
  },
  'is a sidecar that is gone and will be made again': {
    of: 'side',
    given: { spec: { initContainers: [side] }, containers: [seen('web', running)] },
    status: { ...waits, name: 'side', state: { waiting: { reason: 'PodInitializing' } } },
  },
};

for (const [name, { given, status, of = 'web' }] of Object.entries(cases)) {
  test(`containerStatuses(): the container ${name}`, () => {
    assert.deepEqual(statusOf(of, given), status);
  });
}

test('containerStatuses(): an ephemeral container is neither started nor ready', () => {
  const { started: _, ...expected } = { ...runs, name: 'debug', containerID: 'containerd://debug-0', ready: false };
  const given = { spec: { ephemeralContainers: [{ name: 'debug' }] }, containers: [seen('debug', running)] };
  assert.deepEqual(statusOf('debug', given), expected);
});

test('containerStatuses(): the termination messages of a pod share 12 KiB, and no character is cut in two', () => {
  const spec = { restartPolicy: 'Never', containers: [web, { ...web, name: 'api' }] };
  const message = `${'x'.repeat(6143)}é and more`;
  const status = statusOf('web', { spec, containers: [seen('web', exited(1, message))] });
  assert.equal(status?.state?.terminated?.message, 'x'.repeat(6143));
});
