import type { Taint } from '../../api/generated/core-v1.ts';
import type { Quantity } from '../../base/quantity.ts';
import type { PressureThreshold } from './signals/pressure-signal.ts';

/** The node's configuration, parsed: times in milliseconds. */
export interface NodeSettings {
  readonly nodeName: string;
  readonly rootDir: string;
  /** Go's name: `amd64`. */
  readonly architecture: string;
  /** kubelet's `--node-labels`; they override the default labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** A cloud controller sets the addresses and removes the taint of a new node. */
  readonly isCloudExternal: boolean;
  readonly providerId: string;
  /** `false`: the node object is created by another component. */
  readonly registers: boolean;
  /** A controller attaches and detaches volumes. */
  readonly controllerAttaches: boolean;
  /** kubelet's `--node-ip`: none, one, or one of each family; `0.0.0.0` and `::` only choose the family. */
  readonly nodeIps: readonly string[];
  readonly maxPods: number;
  /** Zero: no limit. */
  readonly podsPerCore: number;
  /** The number of images in the status; negative for all. */
  readonly maxImages: number;
  readonly systemReserved: ReadonlyMap<string, Quantity>;
  readonly kubeReserved: ReadonlyMap<string, Quantity>;
  /** The number of CPUs in `reservedSystemCPUs`, which replaces the CPU reservations; zero if it is not set. */
  readonly reservedCpus: number;
  readonly thresholds: readonly PressureThreshold[];
  /** Hard eviction thresholds reduce the allocatable resources. */
  readonly reservesThresholds: boolean;
  /** All pods together are limited to the allocatable resources. */
  readonly enforcesPods: boolean;
  /** The parent cgroup of all pods. */
  readonly podsCgroup: string;
  readonly pressureTransitionMs: number;
  /** The longest grace period of pods that a soft threshold evicts. */
  readonly evictionMaxPodGraceSeconds: number;
  /** The feature gate KubeletSeparateDiskGC: images and writable layers may be on different file systems. */
  readonly separatesDisks: boolean;
  readonly hasEphemeralStorage: boolean;
  readonly kubeletPort: number;
  /** How often the status is composed. */
  readonly statusUpdateMs: number;
  /** How often an unchanged status is written. */
  readonly statusReportMs: number;
  readonly leaseSeconds: number;
  /** The features of this agent that control planes check for, sorted. */
  readonly declaredFeatures: readonly string[] | undefined;
}
