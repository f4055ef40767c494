import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import type { PodEvent } from '../events/pod-events.ts';
import type { Step } from '../events/timeline.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { WorkerProgress } from '../workers/worker-progress.ts';

/** Where the worker of a pod stands. */
export type WorkerPhase = 'waiting' | 'syncing' | 'terminating' | 'terminated' | 'finished';

/** All that is known of one pod, for whoever shows it. */
export interface PodReport {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly observed: ObservedPod | undefined;
  readonly worker: WorkerPhase;
  readonly steps: readonly Step[];
  /** Oldest first, bounded. */
  readonly events: readonly PodEvent[];
  /** Absent for a pod that was refused: it has no worker. */
  readonly progress?: WorkerProgress;
  /** The pod of the same name that has to be gone before this one may start. */
  readonly waitsFor?: OlderPod;
}

/** A pod that has its name still. */
export interface OlderPod {
  readonly uid: string;
  readonly worker: WorkerPhase;
}

/** A manifest that could not be used, or only in part. */
export interface ManifestReport {
  readonly source: string;
  readonly errors: readonly string[];
}

export type AgentEvent =
  | { readonly kind: 'step'; readonly pod: Pod; readonly step: Step }
  | { readonly kind: 'event'; readonly pod: Pod; readonly event: PodEvent }
  | { readonly kind: 'status'; readonly pod: Pod; readonly status: PodStatus }
  /** The pod and everything of it is gone. */
  | { readonly kind: 'gone'; readonly pod: Pod }
  | { readonly kind: 'manifest'; readonly report: ManifestReport };

/** What can be seen and asked of a running agent from this machine. */
export interface AgentView {
  readonly nodeName: string;
  pods(): readonly PodReport[];
  /** Pods that are wanted, and that `stopPod` has ended. */
  manuallyStopped(): readonly Pod[];
  manifests(): readonly ManifestReport[];
  /** What is wrong with the node as a whole; empty when nothing is. */
  nodeErrors(): Promise<readonly string[]>;
  /** Which disks of the agent have no space left, a sentence each. */
  fullDisks(): Promise<readonly string[]>;
  /**
   * Ends a pod as if it had been taken out of its source, until its manifest changes. Resolves when nothing of it is
   * left; `graceSeconds` can only shorten what the pod asks for.
   */
  stopPod(uid: string, graceSeconds: number | undefined): Promise<void>;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: AgentEvent) => void): () => void;
}
