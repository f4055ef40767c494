import type { PodWorkerState } from './pod-worker-state.ts';

/** The part of a pod worker that other components read. */
export interface WorkerView {
  readonly state: PodWorkerState;
  /** The pod was removed from its source. */
  readonly removed: boolean;
}

/**
 * A question about a pod, as in kubelet's pod workers. `worker` is `undefined` when the pod has none. `synced` is set
 * once every source is ready and the workers were compared with the desired pods: only then does a missing worker mean
 * that the pod is gone.
 */
export type PodStateQuery = (worker: WorkerView | undefined, synced: boolean) => boolean;

/** No container of the pod runs, for certain. */
export const isKnownTerminated: PodStateQuery = (worker) => worker !== undefined && hasTerminated(worker);

/** A container of the pod may run or may still be started. */
export const couldHaveRunningContainers: PodStateQuery = (worker, synced) =>
  worker ? !hasTerminated(worker) : !synced;

/** All resources of the pod are released. */
export const shouldBeFinished: PodStateQuery = (worker, synced) =>
  worker ? worker.state.phase === 'finished' : synced;

/** The pod is deleted, killed or done. A sync that starts containers may still be in progress. */
export const isTerminationRequested: PodStateQuery = (worker) => worker !== undefined && !isStartable(worker);

/** No container of the pod is started any more. */
export const shouldContainersBeTerminating: PodStateQuery = (worker, synced) =>
  worker ? !isStartable(worker) : synced;

/** The pod no longer needs its containers and sandboxes in the runtime. */
export const shouldRuntimeBeRemoved: PodStateQuery = (worker, synced) => (worker ? hasTerminated(worker) : synced);

/** The node ends the pod or has ended it: evicted, or past its deadline. */
export const isEndedByNode: PodStateQuery = (worker) =>
  worker !== undefined && !isStartable(worker) && 'failure' in worker.state && worker.state.failure !== undefined;

/** The pod's files are no longer needed: it was evicted, or it has terminated and left its source. */
export const shouldContentBeRemoved: PodStateQuery = (worker, synced) => {
  if (!worker) return synced;
  return isEndedByNode(worker, synced) || (worker.removed && hasTerminated(worker));
};

function hasTerminated({ state }: WorkerView): boolean {
  return state.phase === 'terminated' || state.phase === 'finished';
}

function isStartable({ state }: WorkerView): boolean {
  return state.phase === 'waiting' || state.phase === 'syncing';
}
