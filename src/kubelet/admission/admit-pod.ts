import type { Pod } from '../../api/generated/core-v1.ts';
import { appArmorHandler } from './app-armor-handler.ts';
import { declaredFeaturesHandler } from './declared-features-handler.ts';
import { nodePressureHandler } from './node-pressure-handler.ts';
import { operatingSystemHandler } from './operating-system-handler.ts';
import type { AdmissionView, PodAdmitHandler, PodPreemption, PodRejection } from './pod-admit-handler.ts';
import { predicateHandler } from './predicate-handler.ts';
import { shutdownHandler } from './shutdown-handler.ts';
import { supplementalGroupsHandler } from './supplemental-groups-handler.ts';
import { supportedFieldsHandler } from './supported-fields-handler.ts';
import { sysctlHandler } from './sysctl-handler.ts';

/**
 * All admit handlers; the first rejection decides. A new handler is one file and one entry here. The order is kubelet's,
 * except that the operating system comes first: a pod of another system is rejected for that reason, not for
 * unsupported fields.
 */
const ADMIT_HANDLERS: readonly PodAdmitHandler[] = [
  operatingSystemHandler,
  nodePressureHandler,
  supportedFieldsHandler,
  sysctlHandler,
  supplementalGroupsHandler,
  predicateHandler,
  appArmorHandler,
  declaredFeaturesHandler,
  shutdownHandler,
];

export type AdmissionDecision =
  | { readonly kind: 'rejected'; readonly rejection: PodRejection }
  /** The pod fits after its victims have ended. */
  | { readonly kind: 'admitted'; readonly preemption?: PodPreemption };

/**
 * Decides whether the pod may run on this node. A pod that a later handler rejects preempts none, while kubelet preempts pods
 * before it asks that handler.
 */
export function admitPod(pod: Pod, view: AdmissionView): AdmissionDecision {
  let preemption: PodPreemption | undefined;
  for (const handler of ADMIT_HANDLERS) {
    const result = handler(pod, view);
    if (!result) continue;
    if (!('victims' in result)) return { kind: 'rejected', rejection: result };
    preemption = result;
  }
  return { kind: 'admitted', ...(preemption && { preemption }) };
}
