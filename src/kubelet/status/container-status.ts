import type {
  Container,
  ContainerState,
  ContainerStatus,
  ResourceRequirements,
  VolumeMountStatus,
} from '../../api/generated/core-v1.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { isSidecar, restartsAfter } from '../pod/restart-rules.ts';
import { actualResources } from '../resources/pod-allocation.ts';
import { recursiveReadOnlyStatus } from '../sync/config/recursive-read-only.ts';
import { containerIdUri, containerState, lostState, waitingState } from './container-state.ts';
import type { PodStatusView } from './pod-status-view.ts';
import { reportedResources } from './reported-resources.ts';
import { RESTARTING_ALL } from './restart-all-containers.ts';

/** The list of the spec that has the container. */
export type ContainerKind = 'init' | 'regular' | 'ephemeral';

/** One container of the spec, with all that its status depends on. */
export interface ContainerView {
  readonly container: Container;
  readonly kind: ContainerKind;
  /** Its last published status. */
  readonly previous: ContainerStatus | undefined;
  /** Observed containers of its name, newest first. */
  readonly instances: readonly ObservedContainer[];
  /** All containers of the pod are removed and started again. */
  readonly restartingAll: boolean;
  readonly pod: PodStatusView;
}

/** The status of one container. `ready` and `started` come from its probes where it has some. */
export function containerStatus(view: ContainerView): ContainerStatus {
  const newest = view.instances[0];
  const seen = newest ? observedStatus(newest, view) : missingStatus(view);
  const status = withStartError(withInferredEnd(seen, view), view);
  if (view.kind === 'ephemeral') return { ...status, ready: false };
  const started = isStarted(status, view);
  return { ...status, started, ready: isReady(status, started, view) };
}

/** The status of a container that the runtime has. */
function observedStatus(newest: ObservedContainer, view: ContainerView): ContainerStatus {
  const { container, instances, previous, restartingAll, pod } = view;
  const { resources: allocated = {} } = container;
  const requests = allocated.requests ?? {};
  const volumeMounts = volumeMountStatuses(container, pod);
  const stopSignal = pod.features?.stopSignals ? newest.stopSignal : undefined;
  return {
    name: container.name,
    image: newest.image,
    imageID: newest.imageRef,
    containerID: containerIdUri(newest, pod.runtimeName),
    state: containerState(newest, previous, { runtimeName: pod.runtimeName, restartingAll }),
    lastState: lastState(newest, instances[1], previous, pod.runtimeName),
    restartCount: restartCount(newest, previous),
    ready: false,
    resources: newest.state === 'running' ? runningResources(container, pod) : allocated,
    ...(Object.keys(requests).length > 0 && { allocatedResources: requests }),
    ...(volumeMounts.length > 0 && { volumeMounts }),
    ...(newest.user && { user: { linux: newest.user } }),
    ...(stopSignal !== undefined && { stopSignal }),
  };
}

function runningResources(container: Container, { resources }: PodStatusView): ResourceRequirements {
  return reportedResources(container.resources ?? {}, actualResources(container, resources?.actuated));
}

/**
 * The count never decreases. The runtime counts the containers that it still has; when older ones are removed, the count
 * continues from the published one.
 */
function restartCount(newest: ObservedContainer, previous: ContainerStatus | undefined): number {
  const shown = previous?.restartCount ?? 0;
  const isBehind = previous !== undefined && shown >= newest.restartCount;
  const restarted = newest.state === 'running' && previous?.state?.terminated !== undefined;
  const lost = newest.state === 'unknown' && previous?.state?.running !== undefined;
  if (lost || (restarted && isBehind)) return shown + 1;
  return Math.max(shown, newest.restartCount);
}

/** How the previous container ended: from the runtime, else from the published status. */
function lastState(
  newest: ObservedContainer,
  older: ObservedContainer | undefined,
  previous: ContainerStatus | undefined,
  runtimeName: string,
): ContainerState {
  if (older?.state === 'exited') return containerState(older, undefined, { runtimeName, restartingAll: false });
  const isNewContainer = previous?.containerID !== containerIdUri(newest, runtimeName);
  if (isNewContainer && previous?.state?.terminated) return { terminated: previous.state.terminated };
  return previous?.lastState?.terminated ? { terminated: previous.lastState.terminated } : {};
}

/** The runtime has no container of the name: not yet, or no longer. */
function missingStatus(view: ContainerView): ContainerStatus {
  const { previous, restartingAll } = view;
  const wasRemoved = restartingAll && previous !== undefined && !previous.state?.waiting;
  if (previous?.state?.terminated) return wasRemoved ? removedToRestart(previous) : previous;
  return wasRemoved ? removedToRestart(neverSeenStatus(view)) : withLoss(neverSeenStatus(view), view);
}

/** The status of a container that was not created, with the restart count and last state of the previous status. */
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

/** A container that ran in the previous status and is gone has ended without an observed exit. */
function withLoss(status: ContainerStatus, { previous, pod: { pod } }: ContainerView): ContainerStatus {
  if (!previous?.state?.running || previous.lastState?.terminated) return status;
  const restarts = pod.metadata.deletionTimestamp === undefined ? 1 : 0;
  return { ...status, lastState: lostState(LOST_WHILE_RUNNING), restartCount: status.restartCount + restarts };
}

/** The status of a container that was removed because all containers of its pod restart. */
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

/** An init container that the runtime has removed has succeeded if a regular container was created. */
function withInferredEnd(status: ContainerStatus, view: ContainerView): ContainerStatus {
  const { container, kind, instances, restartingAll, pod } = view;
  if (kind !== 'init' || isSidecar(container) || instances.length > 0 || !status.state?.waiting) return status;
  if (restartingAll) return status;
  const regular = new Set(pod.pod.spec.containers.map(({ name }) => name));
  const wasCreated = ({ name, state }: ObservedContainer) => regular.has(name) && state !== 'unknown';
  if (!pod.observed?.containers.some(wasCreated)) return status;
  const message =
    'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
  return { ...status, state: { terminated: { exitCode: 0, reason: 'Completed', message } } };
}

/** A container that cannot be restarted is waiting with the reason of the error; its end moves to `lastState`. */
function withStartError(status: ContainerStatus, view: ContainerView): ContainerStatus {
  const error = view.pod.startErrors.get(view.container.name);
  if (error === undefined || !isToStart(status, view)) return status;
  const lastState = status.state?.terminated ? status.state : status.lastState;
  return { ...status, state: waitingState(error), lastState: lastState ?? {} };
}

function isToStart(status: ContainerStatus, { container, kind, instances, pod }: ContainerView): boolean {
  if (pod.pod.metadata.deletionTimestamp !== undefined || pod.worker !== 'syncing') return false;
  const newest = instances[0];
  if (newest?.state === 'running') return false;
  if (kind === 'init' && status.state?.terminated?.exitCode === 0) return false; // sidecars too, as in kubelet
  return newest?.state !== 'exited' || restartsAfter(container, pod.pod.spec, newest.exitCode);
}

/** Without a startup probe a running container has started. After a restart of the agent the published value holds. */
function isStarted(status: ContainerStatus, { container, kind, instances, previous, pod }: ContainerView): boolean {
  const newest = instances[0];
  if (newest?.state !== 'running') return false;
  if (kind === 'init' && !isSidecar(container)) return true;
  const result = pod.probes.result('startup', newest.id);
  if (result !== undefined) return result === 'success';
  return container.startupProbe === undefined || (isSame(status, previous) && previous?.started === true);
}

/** An init container is ready when it has succeeded; others when they run and their readiness probe succeeds. */
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
      recursiveReadOnly: recursiveReadOnlyStatus(mount, features?.recursiveReadOnly ?? false),
    }),
  }));
}
