import type { Pod } from '../../api/generated/core-v1.ts';
import { podRequests } from '../../api/pod-resources.ts';
import { qosClass } from '../../api/qos.ts';
import { byCodePoint } from '../../base/code-point-order.ts';

/** A pod that asks for other resources than it has. */
export interface PendingResize {
  readonly pod: Pod;
  /** With what it was promised. */
  readonly allocated: Pod;
  /** Since when it waits, as its condition tells; absent: it was not tried yet. */
  readonly since: string | undefined;
}

/** Who gives something back comes first, then who matters most, then who has waited longest. */
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

/** One that was not tried yet has not waited either. */
function waitingSince({ since = 'not yet' }: PendingResize): string {
  return since;
}
