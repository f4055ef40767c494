import type { Pod, PodCondition } from '../../api/generated/core-v1.ts';

/** Messages of the readiness gates that are not satisfied: conditions that other components set. */
export function unsatisfiedGates({ spec }: Pod, conditions: readonly PodCondition[]): string[] {
  return (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const status = conditions.find(({ type }) => type === conditionType)?.status;
    const gate = `pod readiness gate ${JSON.stringify(conditionType)}`;
    if (status === undefined) return [`corresponding condition of ${gate} does not exist.`];
    return status === 'True' ? [] : [`the status of ${gate} is not "True", but ${status}`];
  });
}

/** Whether a readiness gate of the pod has changed. */
export function haveGatesChanged(before: Pod, now: Pod): boolean {
  const closed = (pod: Pod): string => unsatisfiedGates(pod, pod.status?.conditions ?? []).join();
  return closed(before) !== closed(now);
}
