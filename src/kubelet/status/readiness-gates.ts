import type { Pod, PodCondition } from '../../api/generated/core-v1.ts';

/** What keeps a pod whose containers are ready from being ready itself: conditions that others have to set. */
export function closedGates({ spec }: Pod, conditions: readonly PodCondition[]): string[] {
  return (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const status = conditions.find(({ type }) => type === conditionType)?.status;
    const gate = `pod readiness gate ${JSON.stringify(conditionType)}`;
    if (status === undefined) return [`corresponding condition of ${gate} does not exist.`];
    return status === 'True' ? [] : [`the status of ${gate} is not "True", but ${status}`];
  });
}

/** Whether others have opened or closed a gate of the pod. */
export function haveGatesMoved(before: Pod, now: Pod): boolean {
  const closed = (pod: Pod): string => closedGates(pod, pod.status?.conditions ?? []).join();
  return closed(before) !== closed(now);
}
