import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodFailure } from '../pod/pod-failure.ts';

/** The result of one sync. */
export type SyncOutcome =
  /**
   * Nothing to do until an event arrives, or until `resyncAfterMs` have passed (a back-off ends). `failed`:
   * something did not start, and is retried soon.
   */
  | { readonly kind: 'settled'; readonly resyncAfterMs?: number; readonly failed?: boolean }
  /** All containers have exited and none is restarted; with `failure`, the pod must not run any longer. */
  | { readonly kind: 'ended'; readonly failure?: PodFailure };

/** How a pod is terminated. */
export interface KillPodOptions {
  readonly graceSeconds: number;
  /** Overrides the status, whatever the containers did: an eviction, a deadline. */
  readonly failure?: PodFailure;
}

/**
 * The work of a pod worker, one call at a time per pod. Every method is idempotent: it is repeated after an error, an
 * abort or a restart of the agent.
 */
export interface PodSyncer {
  /** Moves the pod towards its spec. The signal aborts when the pod is to be terminated. */
  sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome>;

  /**
   * Stops every container within the grace period; resolves when none runs. The signal aborts when the grace period is
   * shortened.
   */
  terminate(pod: Pod, ending: KillPodOptions, signal: AbortSignal): Promise<void>;

  /** Releases volumes, cgroups and probes of the stopped pod. Its dead containers stay, for logs and status. */
  release(pod: Pod, signal: AbortSignal): Promise<void>;

  /** Removes everything of the pod: dead containers, sandboxes, logs, directories, records. */
  purge(pod: Pod, signal: AbortSignal): Promise<void>;

  /** Forgets the termination of a pod that starts again under the same UID. Its containers count as restarted. */
  restart(pod: Pod): void;
}
