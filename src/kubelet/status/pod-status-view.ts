import type { Pod, PodCondition, PodStatus, ResourceStatus } from '../../api/generated/core-v1.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import type { PodResources } from '../resources/pod-allocation.ts';

/** Why a container could not be started: its `waiting` state until it runs. */
export interface ContainerStartError {
  /** `ErrImagePull`, `CrashLoopBackOff`, `CreateContainerConfigError`, … */
  readonly reason: string;
  readonly message: string;
}

/** The input of the status of a pod: no clock, no I/O. */
export interface PodStatusView {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly probes: ProbeResults;
  /** The last computed status: transition times and the last known containers carry over. */
  readonly previous: PodStatus | undefined;
  readonly startErrors: ReadonlyMap<string, ContainerStartError>;
  /** Set when the pod was rejected or evicted: overrides phase, reason and message. */
  readonly failure: PodFailure | undefined;
  /** State of the pod worker; containers of a terminating pod do not restart. */
  readonly worker: 'syncing' | 'terminating' | 'terminated';
  readonly nowMs: number;
  /** The node's addresses, primary first; at most one of each family. */
  readonly hostIPs: readonly string[];
  /** The runtime's own name (`containerd`): the scheme of container ids. */
  readonly runtimeName: string;
  /** Absent: none. */
  readonly features?: StatusFeatures | undefined;
  /** The health of the devices of a regular container, by its name; absent: none is known. */
  readonly resourceHealth?: ((container: string) => readonly ResourceStatus[]) | undefined;
  /** Absent: the pod has its allocated resources. */
  readonly resources?: StatusResources | undefined;
}

/** Resources of a pod that differ from the allocated ones. */
export interface StatusResources {
  /** Actuated resources; absent: the allocated ones. */
  readonly actuated?: PodResources | undefined;
  /** Conditions of a resize. */
  readonly conditions: readonly PodCondition[];
}

/** Status fields that depend on features of the node. */
export interface StatusFeatures {
  /** The feature gate ContainerStopSignals. */
  readonly stopSignals: boolean;
  /** The runtime handler of the pod supports recursive read-only mounts. */
  readonly recursiveReadOnly: boolean;
}
