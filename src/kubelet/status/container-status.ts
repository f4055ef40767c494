import type { Container, ContainerState, ContainerStatus, VolumeMountStatus } from '../../api/generated/core-v1.ts';
import type { ObservedContainer } from '../observe/observed-pod.ts';
import { containerIdOf, lostState, stateOf, waitingState } from './container-state.ts';
import type { PodStatusView } from './pod-status-view.ts';
import { isSidecar, restartsAfter } from './restart-rules.ts';

/** The list of the spec that a container stands in. */
export type ContainerKind = 'init' | 'regular' | 'ephemeral';

/** One container of the spec, with all that its status depends on. */
export interface ContainerView {
  readonly container: Container;
  readonly kind: ContainerKind;
  /** The status last shown for it. */
  readonly previous: ContainerStatus | undefined;
  /** What the runtime has under its name, newest first. */
  readonly instances: readonly ObservedContainer[];
  readonly pod: PodStatusView;
}

/** The status of one container. `ready` and `started` come from its probes where it has some. */
export function containerStatus(view: ContainerView): ContainerStatus {
  const newest = view.instances[0];
  const seen = newest ? observedStatus(newest, view) : unseenStatus(view);
  const status = withTrouble(withInferredEnd(seen, view), view);
  if (view.kind === 'ephemeral') return { ...status, ready: false };
  const started = isStarted(status, view);
  return { ...status, started, ready: isReady(status, started, view) };
}

/** From what the runtime has now, and had before under the same name. */
function observedStatus(newest: ObservedContainer, view: ContainerView): ContainerStatus {
  const { container, instances, previous, pod } = view;
  const requests = container.resources?.requests ?? {};
  const volumeMounts = volumeMountStatuses(container);
  return {
    name: container.name,
    image: newest.image,
    imageID: newest.imageRef,
    containerID: containerIdOf(newest, pod.runtimeName),
    state: stateOf(newest, previous, pod.runtimeName),
    lastState: lastStateOf(newest, instances[1], previous, pod.runtimeName),
    restartCount: restartCountOf(newest, previous),
    ready: false,
    resources: container.resources ?? {},
    ...(Object.keys(requests).length > 0 && { allocatedResources: requests }),
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
}

/**
 * A count never goes back. The runtime's count is of the containers it still has; one that started after a container
 * which is gone from there counts on from what was shown.
 */
function restartCountOf(newest: ObservedContainer, previous: ContainerStatus | undefined): number {
  const shown = previous?.restartCount ?? 0;
  const isBehind = previous !== undefined && shown >= newest.restartCount;
  const restarted = newest.state === 'running' && previous?.state?.terminated !== undefined;
  const lost = newest.state === 'unknown' && previous?.state?.running !== undefined;
  if (lost || (restarted && isBehind)) return shown + 1;
  return Math.max(shown, newest.restartCount);
}

/** How the container before this one ended: as the runtime tells it, else as it was last shown. */
function lastStateOf(
  newest: ObservedContainer,
  older: ObservedContainer | undefined,
  previous: ContainerStatus | undefined,
  runtimeName: string,
): ContainerState {
  if (older?.state === 'exited') return stateOf(older, undefined, runtimeName);
  const isAnother = previous?.containerID !== containerIdOf(newest, runtimeName);
  if (isAnother && previous?.state?.terminated) return { terminated: previous.state.terminated };
  return previous?.lastState?.terminated ? { terminated: previous.lastState.terminated } : {};
}

/** The runtime has nothing under the name: not yet, or no longer. */
function unseenStatus({ container, previous, pod: { pod } }: ContainerView): ContainerStatus {
  if (previous?.state?.terminated) return previous;
  const hasInitContainers = (pod.spec.initContainers ?? []).length > 0;
  const volumeMounts = volumeMountStatuses(container);
  const isLost = previous?.state?.running !== undefined && previous.lastState?.terminated === undefined;
  const restarts = isLost && pod.metadata.deletionTimestamp === undefined ? 1 : 0;
  return {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    state: { waiting: { reason: hasInitContainers ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: isLost ? lostState(LOST_WHILE_RUNNING) : (previous?.lastState ?? {}),
    restartCount: (previous?.restartCount ?? 0) + restarts,
    ready: false,
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
}

const LOST_WHILE_RUNNING =
  'The container could not be located when the pod was deleted.  The container used to be Running';

/** An init container that is gone from the runtime did its work if a container that comes after it was made. */
function withInferredEnd(status: ContainerStatus, view: ContainerView): ContainerStatus {
  const { container, kind, instances, pod } = view;
  if (kind !== 'init' || isSidecar(container) || instances.length > 0 || !status.state?.waiting) return status;
  const regular = new Set(pod.pod.spec.containers.map(({ name }) => name));
  const wasMade = (made: ObservedContainer) => regular.has(made.name) && made.state !== 'unknown';
  if (!pod.observed?.containers.some(wasMade)) return status;
  const message =
    'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
  return { ...status, state: { terminated: { exitCode: 0, reason: 'Completed', message } } };
}

/** A container that is to start again, and cannot, waits with the reason; how it ended moves to `lastState`. */
function withTrouble(status: ContainerStatus, view: ContainerView): ContainerStatus {
  const trouble = view.pod.troubles.get(view.container.name);
  if (trouble === undefined || !isToStart(status, view)) return status;
  const lastState = status.state?.terminated ? status.state : status.lastState;
  return { ...status, state: waitingState(trouble), lastState: lastState ?? {} };
}

function isToStart(status: ContainerStatus, { container, kind, instances, pod }: ContainerView): boolean {
  if (pod.pod.metadata.deletionTimestamp !== undefined || pod.worker !== 'syncing') return false;
  const newest = instances[0];
  if (newest?.state === 'running') return false;
  const isDone = kind === 'init' && !isSidecar(container) && status.state?.terminated?.exitCode === 0;
  if (isDone) return false;
  return newest?.state !== 'exited' || restartsAfter(container, pod.pod.spec, newest.exitCode);
}

/** Without a startup probe a container has started when it runs. What the agent knew before it restarted still holds. */
function isStarted(status: ContainerStatus, { container, kind, instances, previous, pod }: ContainerView): boolean {
  const newest = instances[0];
  if (newest?.state !== 'running') return false;
  if (kind === 'init' && !isSidecar(container)) return true;
  const result = pod.probes.result('startup', newest.id);
  if (result !== undefined) return result === 'success';
  return container.startupProbe === undefined || (isSame(status, previous) && previous?.started === true);
}

/** An init container is ready when it has done its work; any other when it runs and its readiness probe agrees. */
function isReady(status: ContainerStatus, started: boolean, view: ContainerView): boolean {
  const { container, kind, instances, previous, pod } = view;
  if (kind === 'init' && !isSidecar(container)) return status.state?.terminated?.exitCode === 0;
  const newest = instances[0];
  if (!started || newest === undefined) return false;
  if (container.readinessProbe === undefined) return true;
  const result = pod.probes.result('readiness', newest.id);
  if (result !== undefined) return result === 'success';
  return isSame(status, previous) && previous?.ready === true;
}

function isSame(status: ContainerStatus, previous: ContainerStatus | undefined): boolean {
  return previous !== undefined && status.containerID === previous.containerID;
}

function volumeMountStatuses(container: Container): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly && { readOnly, recursiveReadOnly: 'Disabled' }),
  }));
}
