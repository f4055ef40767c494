import type { Pod } from '../../api/generated/core-v1.ts';
import type { ResourceAmounts } from '../../api/pod-resources.ts';
import type { PressureCondition } from '../node/signals/pressure-condition.ts';
import type { HostFacts } from '../resources/host-facts.ts';

/** Everything that admission may read besides the pod. Plain values: handlers use no clock and no I/O. */
export interface AdmissionView {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
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
  /** Absent: the node is standalone. */
  readonly hasApiServer?: boolean | undefined;
  /** The pressure that the node is under; absent: none. */
  readonly pressure?: ReadonlySet<PressureCondition> | undefined;
  /** Absent: all gates are off. */
  readonly gates?: FieldGates | undefined;
}

/** Feature gates that fields of a pod depend on; absent means off. */
export interface FieldGates {
  readonly containerStopSignals?: boolean | undefined;
}

/** Why a pod may not run on this node: kubelet's reason and message. */
export interface PodRejection {
  readonly reason: string;
  readonly message: string;
}

/** Checks one aspect of a pod. Returns `undefined` to admit it. */
export type PodAdmitHandler = (pod: Pod, view: AdmissionView) => PodRejection | undefined;

/** The rejection of a scheduler predicate that kubelet repeats. */
export function predicateFailed(name: string, description: string): PodRejection {
  return { reason: name, message: `Predicate ${name} failed: ${description}` };
}
