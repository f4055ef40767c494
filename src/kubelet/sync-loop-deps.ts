import type { Pod } from '../api/generated/core-v1.ts';
import type { Log } from '../base/log.ts';
import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import type { Clock } from '../host/clock.ts';
import type { ObservedPods } from './pleg/observed-pods.ts';
import type { PodFailure } from './pod/pod-failure.ts';
import type { PodResizes } from './resources/pod-resizes.ts';
import type { PodChange } from './sources/desired-pods.ts';
import type { PodSource, SourceError } from './sources/pod-source.ts';
import type { SourceObjects } from './sources/source-objects.ts';
import type { PodWorkers } from './workers/pod-workers.ts';

export interface SyncLoopDeps {
  readonly sources: readonly PodSource[];
  readonly workers: PodWorkers;
  readonly observed: ObservedPods;
  readonly clock: Clock;
  readonly log: Log;
  readonly unhandled: UnhandledErrors;
  /** Admission: returns why the pod may not run beside the others, or `undefined` to admit it. May preempt other pods. */
  readonly admit: (pod: Pod, otherPods: readonly Pod[]) => PodFailure | undefined;
  /** Whether `admit` would admit the pod. Has no effect. */
  readonly isAdmissible: (pod: Pod, otherPods: readonly Pod[]) => boolean;
  /** The resources that pods were allocated, and requested resizes. */
  readonly resizes: PodResizes;
  /** Publishes the status of a rejected pod. */
  readonly reject: (pod: Pod, rejection: PodFailure) => void;
  /** Called when a rejected pod was removed from its source. */
  readonly forgetRejected: (pod: Pod) => void;
  /** Lists, by UID, all pods that have anything in the runtime, on disk or in cgroups. */
  readonly podsOnNode: (signal: AbortSignal) => Promise<ReadonlyMap<string, Pod>>;
  /** The objects in a source's manifests besides pods. Called before the pods reach the workers. */
  readonly onObjects: (source: PodSource, objects: SourceObjects) => void;
  readonly onSourceErrors: (source: PodSource, errors: readonly SourceError[]) => void;
  /** UIDs of all pods of the sources and on the node, once all sources have reported; called before new pods are admitted. */
  readonly onPodsKnown?: (uids: ReadonlySet<string>) => void;
  /** The pods that a snapshot changed, mirror pods included. Called after the workers are updated. */
  readonly onChanges: (changes: readonly PodChange[]) => void;
}
