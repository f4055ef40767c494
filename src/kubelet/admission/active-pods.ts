import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import { isKnownTerminated, type WorkerView } from '../workers/pod-questions.ts';

/** A pod worker, as far as admission needs it. */
export interface AdmittedPod extends WorkerView {
  readonly pod: Pod;
  /** The pod that runs under this UID once the worker is gone. */
  readonly successor: Pod | undefined;
}

/**
 * The pods whose resources and ports are counted: those that a source wants and that have not terminated. As in kubelet,
 * a pod that left its source does not count while it terminates.
 */
export function activePods(workers: Iterable<AdmittedPod>): readonly Pod[] {
  return [...workers].flatMap((worker) => {
    if (worker.removed) return worker.successor ?? [];
    return isKnownTerminated(worker, true) ? [] : worker.pod;
  });
}

/** The pods that a pod is admitted beside. Pods of one full name are never up together: they share what they need. */
export function otherPods(pod: Pod, active: readonly Pod[]): readonly Pod[] {
  const fullName = podFullName(pod);
  return active.filter((other) => podFullName(other) !== fullName);
}
