import type { Pod } from '../../api/generated/core-v1.ts';

/** A step as the timeline names it. */
export type StepName =
  | 'preemption'
  | 'directories'
  | 'cgroup'
  | 'volumes'
  | 'log links'
  | 'resource claims'
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
 * A resource that a pod needs around its containers. Steps are prepared in list order when the pod starts and released
 * in reverse order when it ends.
 */
export interface PodStep {
  /** The name in the timeline. Steps without a name are instant and not shown. */
  readonly name?: StepName;
  /** Idempotent: after a restart of the agent every running pod is prepared again. */
  prepare(pod: Pod, signal: AbortSignal): Promise<void>;
  /**
   * Whether `prepare` could only keep the resources of an earlier version of the pod, so that `refresh` should retry
   * soon.
   */
  isStale?(uid: string): boolean;
  /**
   * Called by later syncs of the same pod version, to update what changes by itself, such as volume content. An error
   * is reported as an event and retried; what was prepared stays usable.
   */
  refresh?(pod: Pod, signal: AbortSignal): Promise<void>;
  /**
   * Whether the resource is gone from under the running containers, so that the pod must be killed and started anew. Asked in
   * each sync while containers run, also before `prepare`.
   */
  isLost?(pod: Pod): Promise<boolean>;
  /** Called when no container runs any more. Safe when `prepare` never ran or failed half-way. */
  release(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Removes everything that is left of the pod. Called after `release`, when the pod has left its source. */
  purge?(pod: Pod, signal: AbortSignal): Promise<void>;
}
