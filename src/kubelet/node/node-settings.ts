import type { Taint } from '../../api/generated/core-v1.ts';
import type { Quantity } from '../../base/quantity.ts';
import type { PressureThreshold } from './signals/pressure-signal.ts';

/** What the configuration says about the node object. Milliseconds and amounts, already parsed. */
export interface NodeSettings {
  readonly nodeName: string;
  readonly rootDir: string;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  /** kubelet's `--node-labels`; they win over those that the node has by itself. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** A cloud controller sets the addresses, and takes its taint away when it has seen the node. */
  readonly isCloudExternal: boolean;
  readonly providerId: string;
  /** `false`: somebody else makes the node object. */
  readonly registers: boolean;
  /** Volumes are attached and detached by a controller. */
  readonly controllerAttaches: boolean;
  /** kubelet's `--node-ip`: none, one, or one of each family; `0.0.0.0` and `::` only choose the family. */
  readonly nodeIps: readonly string[];
  readonly maxPods: number;
  /** Zero for no such limit. */
  readonly podsPerCore: number;
  /** How many images the status lists; negative for all. */
  readonly maxImages: number;
  readonly systemReserved: ReadonlyMap<string, Quantity>;
  readonly kubeReserved: ReadonlyMap<string, Quantity>;
  /** CPUs that are kept from pods, which then stand for all that is reserved of them; zero when none are named. */
  readonly reservedCpus: number;
  readonly thresholds: readonly PressureThreshold[];
  /** What hard thresholds keep free is not for pods. */
  readonly reservesThresholds: boolean;
  /** Pods together are held to what is allocatable. */
  readonly enforcesPods: boolean;
  /** The cgroup above all pods. */
  readonly podsCgroup: string;
  readonly pressureTransitionMs: number;
  readonly hasEphemeralStorage: boolean;
  readonly kubeletPort: number;
  /** How often the status is looked at. */
  readonly statusUpdateMs: number;
  /** How often it is written though nothing has changed. */
  readonly statusReportMs: number;
  readonly leaseSeconds: number;
  /** Of the features that control planes ask nodes for, those that work here; in order. */
  readonly declaredFeatures: readonly string[];
}
