import type { PodWorkerState } from './pod-worker-state.ts';

/** What other parts of the agent ask about a pod's worker. */
export interface WorkerView {
  readonly state: PodWorkerState;
  /** The pod left its source. */
  readonly removed: boolean;
}

/**
 * Answers by what is known of the pod's worker (`undefined`: there is none) and by whether every source has spoken and
 * the workers were compared with them (`synced`): before that, an unknown pod says nothing.
 */
export type PodStateQuery = (worker: WorkerView | undefined, synced: boolean) => boolean;

/** Nothing of it runs, for sure. */
export const isKnownTerminated: PodStateQuery = (worker) => worker !== undefined && hasTerminated(worker);

/** Something of it may run, or may yet be started. */
export const couldHaveRunningContainers: PodStateQuery = (worker, synced) => (worker ? !hasTerminated(worker) : !synced);

/** Everything that it held is given back. */
export const shouldBeFinished: PodStateQuery = (worker, synced) => (worker ? worker.state.phase === 'finished' : synced);

/** Somebody wants it gone, or it is done; the pass that starts containers may still be under way. */
export const isTerminationRequested: PodStateQuery = (worker) => worker !== undefined && !isStartable(worker);

/** No container of it is started any more. */
export const shouldContainersBeTerminating: PodStateQuery = (worker, synced) => (worker ? !isStartable(worker) : synced);

/** What the runtime has of it is of no use to it any more. */
export const shouldRuntimeBeRemoved: PodStateQuery = (worker, synced) => (worker ? hasTerminated(worker) : synced);

/** What it has on disk is of no use to anybody any more: it was evicted, or it has ended and left its source. */
export const shouldContentBeRemoved: PodStateQuery = (worker, synced) => {
  if (!worker) return synced;
  return isEvicted(worker.state) || (worker.removed && hasTerminated(worker));
};

function hasTerminated({ state }: WorkerView): boolean {
  return state.phase === 'terminated' || state.phase === 'finished';
}

function isStartable({ state }: WorkerView): boolean {
  return state.phase === 'waiting' || state.phase === 'syncing';
}

function isEvicted(state: PodWorkerState): boolean {
  return state.phase !== 'waiting' && state.phase !== 'syncing' && state.failure !== undefined;
}
