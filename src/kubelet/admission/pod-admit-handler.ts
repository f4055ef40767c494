import type { Pod, Taint } from '../../api/generated/core-v1.ts';
import type { ResourceAmounts } from '../../api/pod-resources.ts';
import type { PressureCondition } from '../node/signals/pressure-condition.ts';
import type { HostFacts } from '../resources/host-facts.ts';

/** Everything that admission may read besides the pod. Plain values: handlers use no clock and no I/O. */
export interface AdmissionView {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Taints of the node object; absent: none. */
  readonly taints?: readonly Taint[] | undefined;
  readonly maxPods: number;
  /** Resources that pods may use. Missing huge pages count as zero; other missing resources are not counted. */
  readonly allocatable: ResourceAmounts;
  /** Pods that are admitted and have not terminated. */
  readonly otherPods: readonly Pod[];
  readonly host: Pick<HostFacts, 'kernel' | 'appArmorEnabled'>;
  /** Whether the runtime supports `supplementalGroupsPolicy: Strict`. */
  readonly supportsSupplementalGroupsPolicy: boolean;
  /** kubelet's `allowedUnsafeSysctls`: sysctl names, or name prefixes that end with `*`. */
  readonly allowedUnsafeSysctls?: readonly string[] | undefined;
  /** The features that the node declares; absent: they are not checked. */
  readonly declaredFeatures?: readonly string[] | undefined;
  /** The machine is about to be shut down. */
  readonly isShuttingDown?: boolean | undefined;
  /** Absent: the node is standalone. */
  readonly hasApiServer?: boolean | undefined;
  /** Critical pods preempt others; absent: they do. */
  readonly preempts?: boolean | undefined;
  /** The pressure that the node is under; absent: none. */
  readonly pressure?: ReadonlySet<PressureCondition> | undefined;
  /** Absent: all gates are off. */
  readonly gates?: FieldGates | undefined;
}

/** Feature gates that fields of a pod depend on; absent means off. */
export interface FieldGates {
  readonly containerStopSignals?: boolean | undefined;
  readonly taintTolerationComparisonOperators?: boolean | undefined;
}

/** Why a pod may not run on this node: kubelet's reason and message. */
export interface PodRejection {
  readonly reason: string;
  readonly message: string;
}

/** A critical pod fits after these pods have ended. */
export interface PodPreemption {
  readonly victims: readonly Pod[];
  /** The first resource that the pod lacks. */
  readonly resource: string;
}

/** Checks one aspect of a pod. Returns `undefined` to admit it. */
export type PodAdmitHandler = (pod: Pod, view: AdmissionView) => PodRejection | PodPreemption | undefined;

/** Why a pod does not fit on the node, by a predicate of the scheduler that kubelet repeats. */
export type PredicateFailure =
  | { readonly kind: 'predicate'; readonly name: string; readonly description: string }
  | InsufficientResource;

/** CPUs are counted in thousandths. */
export interface InsufficientResource {
  readonly kind: 'insufficientResource';
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** Returns why the pod does not fit; nothing when it does. */
export type Predicate = (pod: Pod, view: AdmissionView) => readonly PredicateFailure[];
