import type { Pod } from '../../api/generated/core-v1.ts';

/**
 * Something that a pod needs around its containers. A pod's steps are a list: downwards when it starts, upwards when
 * it ends.
 */
export interface PodStep {
  /** As the timeline shows it. */
  readonly name: string;
  /** Safe to repeat: after a restart every live pod is prepared again. */
  prepare(pod: Pod, signal: AbortSignal): Promise<void>;
  /** No container runs any more. Safe when `prepare` never ran, or failed half-way. */
  release(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Nobody wants to know of the pod any more: its last traces go. Comes after `release`. */
  purge?(pod: Pod, signal: AbortSignal): Promise<void>;
}
