import type { Pod, PodStatus, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { isStaticPod } from '../../api/pod-names.ts';
import { podLimits, podRequests, type ResourceAmounts } from '../../api/pod-resources.ts';
import { qosClass } from '../../api/qos.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { actualPod } from '../resources/pod-allocation.ts';
import { type ContainerStatuses, containerStatuses } from './container-statuses.ts';
import { finalStatuses } from './final-statuses.ts';
import { podAddresses } from './pod-addresses.ts';
import { podConditions } from './pod-conditions.ts';
import { isTerminal, type PodPhase, podPhase } from './pod-phase.ts';
import type { PodStatusView } from './pod-status-view.ts';
import { reportedPodResources } from './reported-resources.ts';

/** Computes the status of a pod. Pure: the same view always gives the same status. */
export function computePodStatus(view: PodStatusView): PodStatus {
  const previous = view.previous ?? view.pod.status;
  if (isRejected(view, previous)) return rejectedStatus(view, previous);

  const seen = containerStatuses(view, previous);
  const statuses = isTerminatedForGood(view) ? finalStatuses(view.pod, seen) : seen;
  const phase = computePhase(view, statuses, previous);
  return {
    phase,
    ...reasonAndMessage(view, phase, previous),
    conditions: podConditions({ ...view, statuses, phase, previous, resizing: view.resources?.conditions }),
    ...(statuses.init.length > 0 && { initContainerStatuses: statuses.init }),
    containerStatuses: statuses.regular,
    ...(statuses.ephemeral.length > 0 && { ephemeralContainerStatuses: statuses.ephemeral }),
    ...podAddresses(view, previous),
    ...resourceFields(view),
    ...constantFields(view, previous),
  };
}

/** The pod is terminated and no container will run again. A static pod may run again, so it is excluded. */
function isTerminatedForGood({ pod, worker }: PodStatusView): boolean {
  return worker === 'terminated' && !isStaticPod(pod);
}

/** Rejected before any container was created: the status has no container statuses. */
function isRejected({ failure, observed }: PodStatusView, previous: PodStatus | undefined): boolean {
  return failure !== undefined && observed === undefined && previous?.containerStatuses === undefined;
}

function rejectedStatus(view: PodStatusView, previous: PodStatus | undefined): PodStatus {
  return { ...view.failure, ...constantFields(view, previous) };
}

function computePhase(view: PodStatusView, statuses: ContainerStatuses, previous: PodStatus | undefined): PodPhase {
  const { pod, failure, worker } = view;
  for (const final of [pod.status?.phase, previous?.phase]) if (isTerminal(final)) return final;
  if (failure) return failure.phase;
  const phase = podPhase({
    pod,
    statuses: [...statuses.init, ...statuses.regular],
    ended: worker !== 'syncing',
    initialized: hasRegularContainer(view),
  });
  return isTerminatedForGood(view) && !isTerminal(phase) ? 'Failed' : phase;
}

function hasRegularContainer({ pod, observed }: PodStatusView): boolean {
  const [newest] = observed?.sandboxes ?? [];
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  const isCurrent = (sandboxId: string) => newest?.ready === true && sandboxId === newest.id;
  return observed?.containers.some(({ name, sandboxId }) => regular.has(name) && isCurrent(sandboxId)) ?? false;
}

/** Reason and message of the failure, else those that the previous status has for the same phase. */
function reasonAndMessage({ failure }: PodStatusView, phase: PodPhase, previous: PodStatus | undefined) {
  const source = failure?.phase === phase ? failure : previous?.phase === phase ? previous : undefined;
  const { reason, message } = source ?? {};
  return { ...(reason && { reason }), ...(message && { message }) };
}

/** Fields that stay the same for the lifetime of the pod, or only grow. */
function constantFields({ pod, nowMs }: PodStatusView, previous: PodStatus | undefined) {
  const generation = Math.max(pod.metadata.generation ?? 0, previous?.observedGeneration ?? 0);
  return {
    qosClass: qosClass(pod),
    startTime: previous?.startTime ?? formatTime(nowMs),
    ...(generation > 0 && { observedGeneration: generation }),
  };
}

/** The actuated and the allocated resources of the pod. */
function resourceFields({ pod, resources }: PodStatusView): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const has = isTerminal(pod.status?.phase) ? pod : actualPod(pod, resources?.actuated);
  const allocatedResources = asResourceList(podRequests(pod));
  return {
    resources: pod.status?.phase === 'Running' ? reportedPodResources(has) : effectiveResources(has),
    ...(allocatedResources && { allocatedResources }),
  };
}

function effectiveResources(pod: Pod): ResourceRequirements {
  const requests = asResourceList(podRequests(pod));
  const limits = asResourceList(podLimits(pod));
  return { ...(requests && { requests }), ...(limits && { limits }) };
}

function asResourceList(amounts: ResourceAmounts): Record<string, string> | undefined {
  if (amounts.size === 0) return undefined;
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]));
}
