import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { isTerminal } from '../status/pod-phase.ts';
import { isKnownTerminated, type WorkerView } from '../workers/pod-state-queries.ts';

/** The part of a pod worker that admission reads. */
export interface AdmittedPod extends WorkerView {
  readonly pod: Pod;
  /** The pod that starts under this UID after the worker is gone. */
  readonly successor: Pod | undefined;
}

/**
 * Returns the pods whose resources and ports count: desired pods that have not terminated. As in kubelet, a pod that
 * was removed from its source does not count while it terminates. A pod whose phase is terminal counts only while
 * something of it runs.
 */
export function activePods(
  workers: Iterable<AdmittedPod>,
  observed: Pick<ReadonlyMap<string, Pick<ObservedPod, 'sandboxes' | 'containers'>>, 'get'>,
): readonly Pod[] {
  return [...workers].flatMap((worker) => {
    const { pod, removed, successor } = worker;
    if (removed) return successor ?? [];
    const isDone = isTerminal(pod.status?.phase) && !isRunning(observed.get(pod.metadata.uid));
    return isDone || isKnownTerminated(worker, true) ? [] : pod;
  });
}

function isRunning(seen: Pick<ObservedPod, 'sandboxes' | 'containers'> | undefined): boolean {
  if (!seen) return false;
  return seen.sandboxes.some(({ ready }) => ready) || seen.containers.some(({ state }) => state === 'running');
}

/** Excludes pods with the same full name: they never run at the same time as `pod`. */
export function otherPods(pod: Pod, active: readonly Pod[]): readonly Pod[] {
  const fullName = podFullName(pod);
  return active.filter((other) => podFullName(other) !== fullName);
}
