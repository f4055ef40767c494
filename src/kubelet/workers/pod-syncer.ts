import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodFailure } from '../pod/pod-failure.ts';

/** What a pass over a pod came to. */
export type SyncOutcome =
  /**
   * Nothing more to do until something happens, or until `lookAgainInMs` have passed (a back-off ends). With `failed`
   * something did not come up, and is worth another try soon.
   */
  | { readonly kind: 'settled'; readonly resyncAfterMs?: number; readonly failed?: boolean }
  /** All containers are done and none is to be restarted; or, with a verdict, the pod must not run any longer. */
  | { readonly kind: 'ended'; readonly failure?: PodFailure };

/** How a pod is to end. */
export interface KillPodOptions {
  readonly graceSeconds: number;
  /** What its status shall say, whatever its containers did: an eviction, a deadline. */
  readonly failure?: PodFailure;
}

/**
 * The work that a pod worker does, one call at a time for each pod. Every function may be repeated after a failure,
 * an abort or a restart of the agent.
 */
export interface PodSyncer {
  /** Brings the pod nearer to what its spec says. The signal aborts when the pod is to end. */
  sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome>;

  /** Stops every container within the grace period; resolves when none runs. Aborts when a shorter one is asked for. */
  terminate(pod: Pod, ending: KillPodOptions, signal: AbortSignal): Promise<void>;

  /** Gives back what the stopped pod holds: volumes, cgroups, probes. Its dead containers stay, to be looked at. */
  release(pod: Pod, signal: AbortSignal): Promise<void>;

  /** Removes every trace: dead containers, sandboxes, logs, folders, records. */
  purge(pod: Pod, signal: AbortSignal): Promise<void>;

  /** Forgets the end of a pod that starts again under its UID: its containers are restarted ones. */
  restart(pod: Pod): void;
}
