import type { Pod } from '../../api/generated/core-v1.ts';

/** A step as the timeline names it. */
export type StepName =
  | 'directories'
  | 'cgroup'
  | 'volumes'
  | 'log links'
  | 'sandbox'
  | 'image'
  | 'create container'
  | 'start container'
  | 'postStart hook'
  | 'preStop hook'
  | 'stop container'
  | 'stop sandbox'
  | 'remove';

/**
 * Something that a pod needs around its containers. A pod's steps are a list: downwards when it starts, upwards when
 * it ends.
 */
export interface PodStep {
  /** As the timeline shows it; a step without a name takes no time and is not shown. */
  readonly name?: StepName;
  /** Safe to repeat: after a restart every live pod is prepared again. */
  prepare(pod: Pod, signal: AbortSignal): Promise<void>;
  /** `prepare` kept what an earlier version of the pod got, for lack of better; `refresh` is worth a try soon. */
  isStale?(uid: string): boolean;
  /**
   * The same version of the pod is looked at again: what changes by itself (the content of a volume) may have done so.
   * A failure is told by an event and tried again; what was prepared stays good.
   */
  refresh?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** No container runs any more. Safe when `prepare` never ran, or failed half-way. */
  release(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Nobody wants to know of the pod any more: its last traces go. Comes after `release`. */
  purge?(pod: Pod, signal: AbortSignal): Promise<void>;
}
