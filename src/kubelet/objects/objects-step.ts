import type { PodStep } from '../pod/pod-step.ts';
import type { PodObjects } from './pod-objects.ts';

/** From its first preparation until nothing of it runs any more, what a pod refers to is kept at hand. */
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
