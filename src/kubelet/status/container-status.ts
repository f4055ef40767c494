import type { Container, ContainerState, ContainerStatus, VolumeMountStatus } from '../../api/generated/core-v1.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { isSidecar, restartsAfter } from '../pod/restart-rules.ts';
import { actualResources } from '../resources/pod-allocation.ts';
import { recursiveReadOnlyShown } from '../sync/config/recursive-read-only.ts';
import { containerIdOf, lostState, stateOf, waitingState } from './container-state.ts';
import type { PodStatusView } from './pod-status-view.ts';
import { RESTARTING_ALL } from './restart-of-all.ts';

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
  /** All containers of the pod begin anew, and are removed for that. */
  readonly restartingAll: boolean;
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
  const { container, instances, previous, restartingAll, pod } = view;
  const { resources: promised = {} } = container;
  const requests = promised.requests ?? {};
  const volumeMounts = volumeMountStatuses(container, pod);
  const stopSignal = pod.features?.stopSignals ? newest.stopSignal : undefined;
  return {
    name: container.name,
    image: newest.image,
    imageID: newest.imageRef,
    containerID: containerIdOf(newest, pod.runtimeName),
    state: stateOf(newest, previous, { runtimeName: pod.runtimeName, restartingAll }),
    lastState: lastStateOf(newest, instances[1], previous, pod.runtimeName),
    restartCount: restartCountOf(newest, previous),
    ready: false,
    resources: newest.state === 'running' ? actualResources(container, pod.resources?.actuated) : promised,
    ...(Object.keys(requests).length > 0 && { allocatedResources: requests }),
    ...(volumeMounts.length > 0 && { volumeMounts }),
    ...(newest.user && { user: { linux: newest.user } }),
    ...(stopSignal !== undefined && { stopSignal }),
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
  if (older?.state === 'exited') return stateOf(older, undefined, { runtimeName, restartingAll: false });
  const isAnother = previous?.containerID !== containerIdOf(newest, runtimeName);
  if (isAnother && previous?.state?.terminated) return { terminated: previous.state.terminated };
  return previous?.lastState?.terminated ? { terminated: previous.lastState.terminated } : {};
}

/** The runtime has nothing under the name: not yet, or no longer. */
function unseenStatus(view: ContainerView): ContainerStatus {
  const { previous, restartingAll } = view;
  const wasRemoved = restartingAll && previous !== undefined && !previous.state?.waiting;
  if (previous?.state?.terminated) return wasRemoved ? removedToRestart(previous) : previous;
  return wasRemoved ? removedToRestart(neverSeenStatus(view)) : withLoss(neverSeenStatus(view), view);
}

/** As if it had never been, but for how often it ran and how it last ended. */
function neverSeenStatus({ container, previous, pod }: ContainerView): ContainerStatus {
  const hasInitContainers = (pod.pod.spec.initContainers ?? []).length > 0;
  const volumeMounts = volumeMountStatuses(container, pod);
  return {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    state: { waiting: { reason: hasInitContainers ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: previous?.lastState ?? {},
    restartCount: previous?.restartCount ?? 0,
    ready: false,
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
}

/** It ran when it was last seen: it has ended since, and nobody knows how. */
function withLoss(status: ContainerStatus, { previous, pod: { pod } }: ContainerView): ContainerStatus {
  if (!previous?.state?.running || previous.lastState?.terminated) return status;
  const restarts = pod.metadata.deletionTimestamp === undefined ? 1 : 0;
  return { ...status, lastState: lostState(LOST_WHILE_RUNNING), restartCount: status.restartCount + restarts };
}

/** Of a container that was removed because all of its pod begin anew. */
function removedToRestart(status: ContainerStatus): ContainerStatus {
  return {
    ...status,
    state: { waiting: { reason: RESTARTING_ALL, message: REMOVED_TO_RESTART } },
    lastState: lostState(REMOVED_TO_RESTART, RESTARTING_ALL),
    restartCount: status.restartCount + 1,
  };
}

const REMOVED_TO_RESTART = 'The container is removed because RestartAllContainers in place';

const LOST_WHILE_RUNNING =
  'The container could not be located when the pod was deleted.  The container used to be Running';

/** An init container that is gone from the runtime did its work if a container that comes after it was made. */
function withInferredEnd(status: ContainerStatus, view: ContainerView): ContainerStatus {
  const { container, kind, instances, restartingAll, pod } = view;
  if (kind !== 'init' || isSidecar(container) || instances.length > 0 || !status.state?.waiting) return status;
  if (restartingAll) return status;
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
  if (kind === 'init' && status.state?.terminated?.exitCode === 0) return false; // sidecars too, as with kubelet
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

function volumeMountStatuses(container: Container, { features }: PodStatusView): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map((mount) => ({
    name: mount.name,
    mountPath: mount.mountPath,
    ...(mount.readOnly && {
      readOnly: true,
      recursiveReadOnly: recursiveReadOnlyShown(mount, features?.recursiveReadOnly ?? false),
    }),
  }));
}
