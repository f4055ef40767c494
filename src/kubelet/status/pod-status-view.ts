import type { Pod, PodCondition, PodStatus } from '../../api/generated/core-v1.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import type { PodResources } from '../resources/pod-allocation.ts';

/** Why a container that should run is not: shown as its `waiting` state until it runs. */
export interface ContainerTrouble {
  /** `ErrImagePull`, `CrashLoopBackOff`, `CreateContainerConfigError`, … */
  readonly reason: string;
  readonly message: string;
}

/** All that the status of a pod is made from: no clock, no I/O. */
export interface PodStatusView {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly probes: ProbeResults;
  /** The status as last computed: times of unchanged conditions and the last known containers carry over. */
  readonly previous: PodStatus | undefined;
  readonly troubles: ReadonlyMap<string, ContainerTrouble>;
  /** Set when the pod was refused or evicted: overrides phase, reason and message. */
  readonly failure: PodFailure | undefined;
  /** What the worker is doing with the pod; a terminating pod's containers do not restart. */
  readonly worker: 'syncing' | 'terminating' | 'terminated';
  readonly nowMs: number;
  /** The node's addresses, primary first; at most one of each family. */
  readonly hostIPs: readonly string[];
  /** As the runtime names itself (`containerd`): the scheme of container ids. */
  readonly runtimeName: string;
  /** Absent: none. */
  readonly features?: StatusFeatures | undefined;
  /** Absent: the pod has what it was promised. */
  readonly resources?: StatusResources | undefined;
}

/** What a status tells of the resources of a pod besides what it was promised. */
export interface StatusResources {
  /** What its containers have; absent: what they were promised. */
  readonly actuated?: PodResources | undefined;
  /** How far a resize is. */
  readonly conditions: readonly PodCondition[];
}

/** What a status tells only where the node can do it. */
export interface StatusFeatures {
  /** The feature gate ContainerStopSignals. */
  readonly stopSignals: boolean;
  /** The runtime handler of the pod can make all that is mounted below a read-only mount read-only too. */
  readonly recursiveReadOnly: boolean;
}
