import type { PodStatus } from '../../api/generated/core-v1.ts';
import { isStaticPod } from '../../api/pod-names.ts';
import { podLimits, podRequests, type ResourceAmounts } from '../../api/pod-resources.ts';
import { qosClass } from '../../api/qos.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { actualPod } from '../resources/pod-allocation.ts';
import { type ContainerStatuses, containerStatuses } from './container-statuses.ts';
import { lastStatuses } from './last-statuses.ts';
import { podAddresses } from './pod-addresses.ts';
import { podConditions } from './pod-conditions.ts';
import { isTerminal, type PodPhase, podPhase } from './pod-phase.ts';
import type { PodStatusView } from './pod-status-view.ts';

/** The status of a pod, from all that is known of it. Pure: the same view always gives the same status. */
export function computePodStatus(view: PodStatusView): PodStatus {
  const previous = view.previous ?? view.pod.status;
  if (isRefused(view, previous)) return refusedStatus(view, previous);

  const seen = containerStatuses(view, previous);
  const statuses = isOver(view) ? lastStatuses(view.pod, seen) : seen;
  const phase = phaseOf(view, statuses, previous);
  return {
    phase,
    ...reasonOf(view, phase, previous),
    conditions: podConditions({ ...view, statuses, phase, previous, resizing: view.resources?.conditions }),
    ...(statuses.init.length > 0 && { initContainerStatuses: statuses.init }),
    containerStatuses: statuses.regular,
    ...(statuses.ephemeral.length > 0 && { ephemeralContainerStatuses: statuses.ephemeral }),
    ...podAddresses(view, previous),
    ...resourcesOf(view),
    ...constantsOf(view, previous),
  };
}

/** Nothing more will be seen of the pod. A static pod may come back, so nothing is concluded of it. */
function isOver({ pod, worker }: PodStatusView): boolean {
  return worker === 'terminated' && !isStaticPod(pod);
}

/** Refused before anything of it was made: there are no containers to tell of. */
function isRefused({ failure: verdict, observed }: PodStatusView, previous: PodStatus | undefined): boolean {
  return verdict !== undefined && observed === undefined && previous?.containerStatuses === undefined;
}

function refusedStatus(view: PodStatusView, previous: PodStatus | undefined): PodStatus {
  return { ...view.failure, ...constantsOf(view, previous) };
}

function phaseOf(view: PodStatusView, statuses: ContainerStatuses, previous: PodStatus | undefined): PodPhase {
  const { pod, failure: verdict, worker } = view;
  for (const final of [pod.status?.phase, previous?.phase]) if (isTerminal(final)) return final;
  if (verdict) return verdict.phase;
  const phase = podPhase({
    pod,
    statuses: [...statuses.init, ...statuses.regular],
    ended: worker !== 'syncing',
    initialized: hasRegularContainer(view),
  });
  return isOver(view) && !isTerminal(phase) ? 'Failed' : phase;
}

function hasRegularContainer({ pod, observed }: PodStatusView): boolean {
  const [newest] = observed?.sandboxes ?? [];
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  const isCurrent = (sandboxId: string) => newest?.ready === true && sandboxId === newest.id;
  return observed?.containers.some(({ name, sandboxId }) => regular.has(name) && isCurrent(sandboxId)) ?? false;
}

/** A verdict's own, else what was said of the phase before. */
function reasonOf({ failure: verdict }: PodStatusView, phase: PodPhase, previous: PodStatus | undefined) {
  const said = verdict?.phase === phase ? verdict : previous?.phase === phase ? previous : undefined;
  const { reason, message } = said ?? {};
  return { ...(reason && { reason }), ...(message && { message }) };
}

/** What stays the same for as long as the pod lives, or only grows. */
function constantsOf({ pod, nowMs }: PodStatusView, previous: PodStatus | undefined) {
  const generation = Math.max(pod.metadata.generation ?? 0, previous?.observedGeneration ?? 0);
  return {
    qosClass: qosClass(pod),
    startTime: previous?.startTime ?? formatTime(nowMs),
    ...(generation > 0 && { observedGeneration: generation }),
  };
}

/** What the pod has, and what it was promised. */
function resourcesOf({ pod, resources }: PodStatusView): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const has = isTerminal(pod.status?.phase) ? pod : actualPod(pod, resources?.actuated);
  const requests = textsOf(podRequests(has));
  const limits = textsOf(podLimits(has));
  const allocatedResources = textsOf(podRequests(pod));
  return {
    resources: { ...(requests && { requests }), ...(limits && { limits }) },
    ...(allocatedResources && { allocatedResources }),
  };
}

function textsOf(amounts: ResourceAmounts): Record<string, string> | undefined {
  if (amounts.size === 0) return undefined;
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]));
}
