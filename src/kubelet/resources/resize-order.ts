import type { Pod } from '../../api/generated/core-v1.ts';
import { podRequests } from '../../api/pod-resources.ts';
import { qosClass } from '../../api/qos.ts';
import { byCodePoint } from '../../base/code-point-order.ts';

/** A pod whose requested resources differ from its allocation. */
export interface PendingResize {
  readonly pod: Pod;
  /** The pod with its allocated resources. */
  readonly allocated: Pod;
  /** The transition time of its condition. Absent: it was not tried yet. */
  readonly since: string | undefined;
}

/** Sort order: decreases first, then by priority, then Guaranteed pods, then by waiting time. */
export function byResizePriority(one: PendingResize, other: PendingResize): number {
  return (
    Number(increasesRequests(one)) - Number(increasesRequests(other)) ||
    (other.pod.spec.priority ?? 0) - (one.pod.spec.priority ?? 0) ||
    Number(isGuaranteed(other)) - Number(isGuaranteed(one)) ||
    byCodePoint(waitingSince(one), waitingSince(other))
  );
}

function increasesRequests({ pod, allocated }: PendingResize): boolean {
  const [now, before] = [podRequests(pod), podRequests(allocated)];
  return ['cpu', 'memory'].some((name) => (now.get(name)?.nano ?? 0n) > (before.get(name)?.nano ?? 0n));
}

function isGuaranteed({ pod }: PendingResize): boolean {
  return qosClass(pod) === 'Guaranteed';
}

/** A resize that was not tried yet has waited for the shortest time. */
function waitingSince({ since = 'not yet' }: PendingResize): string {
  return since;
}
