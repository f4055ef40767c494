import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { isTerminal } from '../status/pod-phase.ts';
import { isKnownTerminated, type WorkerView } from '../workers/pod-questions.ts';

/** A pod worker, as far as admission needs it. */
export interface AdmittedPod extends WorkerView {
  readonly pod: Pod;
  /** The pod that runs under this UID once the worker is gone. */
  readonly successor: Pod | undefined;
}

/**
 * The pods whose resources and ports are counted: those that a source wants and that have not terminated. As in kubelet,
 * a pod that left its source does not count while it terminates, nor does one that was over when this agent first saw it
 * and of which nothing runs.
 */
export function activePods(
  workers: Iterable<AdmittedPod>,
  observed: Pick<ReadonlyMap<string, Pick<ObservedPod, 'sandboxes' | 'containers'>>, 'get'>,
): readonly Pod[] {
  return [...workers].flatMap((worker) => {
    const { pod, removed, successor } = worker;
    if (removed) return successor ?? [];
    const isOver = isTerminal(pod.status?.phase) && !isUp(observed.get(pod.metadata.uid));
    return isOver || isKnownTerminated(worker, true) ? [] : pod;
  });
}

function isUp(seen: Pick<ObservedPod, 'sandboxes' | 'containers'> | undefined): boolean {
  if (!seen) return false;
  return seen.sandboxes.some(({ ready }) => ready) || seen.containers.some(({ state }) => state === 'running');
}

/** The pods that a pod is admitted beside. Pods of one full name are never up together: they share what they need. */
export function otherPods(pod: Pod, active: readonly Pod[]): readonly Pod[] {
  const fullName = podFullName(pod);
  return active.filter((other) => podFullName(other) !== fullName);
}
