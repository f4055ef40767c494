import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import type { PodEvent } from '../events/pod-events.ts';
import type { StartStep } from '../events/start-steps.ts';
import type { Step } from '../events/timeline.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { ErrorCause } from '../pod/pod-cause.ts';
import type { CertificateCount } from '../pod-certificates/pod-certificates.ts';
import type { ShutdownTimes } from '../shutdown/shutdown-state.ts';
import type { WorkerProgress } from '../workers/worker-progress.ts';

/** State of a pod worker. */
export type WorkerPhase = 'waiting' | 'syncing' | 'terminating' | 'terminated' | 'finished';

/** All that the agent knows of one pod. */
export interface PodReport {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly observed: ObservedPod | undefined;
  readonly worker: WorkerPhase;
  readonly steps: readonly Step[];
  /** What such steps usually take on this node. Absent: unknown. */
  readonly startSteps?: readonly StartStep[];
  /** Why its running step is not done yet. Absent: unknown. */
  readonly pending?: readonly ErrorCause[];
  /** Oldest first, bounded. */
  readonly events: readonly PodEvent[];
  /** Absent for a rejected pod: it has no worker. */
  readonly progress?: WorkerProgress;
  /** The pod of the same name that has to be removed before this one may start. */
  readonly waitsFor?: OlderPod;
}

/** An older pod that still holds the name. */
export interface OlderPod {
  readonly uid: string;
  readonly worker: WorkerPhase;
}

/** Errors of a manifest that could not be used, or only in part. */
export interface ManifestReport {
  readonly source: string;
  readonly errors: readonly string[];
}

export type AgentEvent =
  | { readonly kind: 'step'; readonly pod: Pod; readonly step: Step }
  | { readonly kind: 'event'; readonly pod: Pod; readonly event: PodEvent }
  | { readonly kind: 'status'; readonly pod: Pod; readonly status: PodStatus }
  /** The pod and all its resources are removed. */
  | { readonly kind: 'gone'; readonly pod: Pod }
  | { readonly kind: 'manifest'; readonly report: ManifestReport };

/** A running agent as local clients see it. */
export interface AgentView {
  readonly nodeName: string;
  pods(): readonly PodReport[];
  /** Desired pods that `stopPod` has ended. */
  manuallyStopped(): readonly Pod[];
  manifests(): readonly ManifestReport[];
  /** The certificates of pods that the agent requests and renews. */
  podCertificates(): readonly CertificateCount[];
  /** How long the steps of starting pods took on this node. */
  startSteps(): readonly StartStep[];
  /** Preempted pods by the resource that was missing. */
  preemptions(): ReadonlyMap<string, number>;
  /** When the last graceful shutdown began and ended; `undefined`: these times are not kept. */
  shutdownTimes(): ShutdownTimes | undefined;
  /** Errors of the node as a whole. */
  nodeErrors(): Promise<readonly string[]>;
  /** Disks of the agent without free space, a sentence each. */
  fullDisks(): Promise<readonly string[]>;
  /**
   * Ends a pod as if it had been removed from its source, until its manifest changes. Resolves when nothing of it is
   * left. `graceSeconds` can only shorten the grace period of the pod.
   */
  stopPod(uid: string, graceSeconds: number | undefined): Promise<void>;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: AgentEvent) => void): () => void;
}
