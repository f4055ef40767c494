import type { Pod } from '../../api/generated/core-v1.ts';
import { appArmorHandler } from './app-armor-handler.ts';
import { hostPortsHandler } from './host-ports-handler.ts';
import { nodeAffinityHandler } from './node-affinity-handler.ts';
import { nodeNameHandler } from './node-name-handler.ts';
import { nodePressureHandler } from './node-pressure-handler.ts';
import { nodeResourcesHandler } from './node-resources-handler.ts';
import { operatingSystemHandler } from './operating-system-handler.ts';
import type { AdmissionView, PodAdmitHandler, PodRejection } from './pod-admit-handler.ts';
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
  nodeResourcesHandler,
  nodeAffinityHandler,
  nodeNameHandler,
  hostPortsHandler,
  appArmorHandler,
];

/** Decides whether the pod may run on this node. Returns `undefined` to admit it. */
export function admitPod(pod: Pod, view: AdmissionView): PodRejection | undefined {
  for (const handler of ADMIT_HANDLERS) {
    const rejection = handler(pod, view);
    if (rejection) return rejection;
  }
  return undefined;
}
