import type { PodStep } from '../pod/pod-step.ts';
import type { PodObjects } from './pod-objects.ts';

/** Follows the objects of a pod from its first `prepare` until none of its containers runs. */
export function objectsStep(objects: PodObjects): PodStep {
  return {
    async prepare(pod) {
      objects.follow(pod);
    },
    async release(pod) {
      objects.forget(pod.metadata.uid);
    },
  };
}
