import type { Container, Pod } from '../../api/generated/core-v1.ts';
import type { NumaMask } from './numa-mask.ts';

/** NUMA nodes from which a resource can be assigned. */
export interface TopologyHint {
  /** `undefined`: any node. */
  readonly affinity: NumaMask | undefined;
  /** The nodes are as few as the request allows. */
  readonly preferred: boolean;
}

/**
 * The hints for each resource that a container or pod requests. `undefined`: the resource has no preference; an empty list:
 * the request cannot be satisfied from any nodes.
 */
export type HintsByResource = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

/**
 * A manager that assigns resources of the machine to containers: CPUs, memory, devices. kubelet's `HintProvider`.
 *
 * 1. `allocate` is idempotent: a container that has its resources keeps them. They are on disk before it resolves, or
 *    before `settle` does.
 * 2. What a failed `allocate` assigned to the other containers of the pod stays until `release`.
 * 3. Calls of all providers are made one at a time, by one caller (`PodPlacement`), except `settle`.
 */
export interface HintProvider {
  /** Whether the pod may get anything from it. Pods that no provider concerns do not wait for others. Absent: every pod may. */
  concerns?(pod: Pod): boolean;
  /** UIDs of the pods that have something, from this process or a previous one. Absent: it finds those that are gone by itself. */
  assignedUids?(): readonly string[];
  /** For the scope `container`. */
  containerHints(pod: Pod, container: Container): HintsByResource;
  /** For the scope `pod`: what all containers together need. */
  podHints(pod: Pod): HintsByResource;
  /** Assigns resources within the hint. Rejects with an `AllocationError`, or any other error with kubelet's text. */
  allocate(pod: Pod, container: Container, hint: TopologyHint, signal: AbortSignal): Promise<void>;
  /**
   * Completes what `allocate` reserved for the containers of the pod, with calls that may take long: other pods are placed
   * meanwhile. Rejects as `allocate`. Absent: nothing is left to do.
   */
  settle?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Takes back everything that the pod has. Called when no container of it runs any more. */
  release(uid: string): Promise<void>;
}

/** The resources of the machine cannot be assigned: the pod is rejected with this reason and message. */
export class AllocationError extends Error {
  override readonly name = 'AllocationError';
  /** `SMTAlignmentError`; kubelet's `UnexpectedAdmissionError` for errors without a reason of their own. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
