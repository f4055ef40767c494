import type { Pod } from '../../api/generated/core-v1.ts';
import { type QosClass, qosClass } from '../../api/qos.ts';
import { isCriticalPod } from '../resources/critical-pod.ts';
import { requestOf } from './request-of.ts';

/** The amount of a resource that the node lacks; CPUs are counted in thousandths. */
export interface RequiredResource {
  readonly resource: string;
  readonly amount: bigint;
}

export type PreemptionChoice =
  | { readonly kind: 'victims'; readonly victims: readonly Pod[] }
  /** No set of pods frees the resources. */
  | { readonly kind: 'impossible'; readonly error: string };

/**
 * Chooses the pods that end so that the critical pod fits, as kubelet does: few and small guaranteed pods come first, then
 * burstable pods, then pods of best effort.
 */
export function choosePodsToPreempt(
  preemptor: Pod,
  pods: readonly Pod[],
  required: readonly RequiredResource[],
): PreemptionChoice {
  const candidates = pods.filter((pod) => isPreemptable(preemptor, pod));
  const ofClass = (qos: QosClass): readonly Pod[] => candidates.filter((pod) => qosClass(pod) === qos);
  const [bestEffort, burstable, guaranteed] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  const missing = left(required, [...bestEffort, ...burstable, ...guaranteed]);
  if (missing.length > 0) return { kind: 'impossible', error: notFoundText(missing) };
  // Pods of the lower classes count as ended when those of a higher class are chosen.
  const guaranteedVictims = chooseByDistance(guaranteed, left(required, [...bestEffort, ...burstable]));
  const burstableVictims = chooseByDistance(burstable, left(required, [...bestEffort, ...guaranteedVictims]));
  const bestEffortVictims = chooseByDistance(bestEffort, left(required, [...burstableVictims, ...guaranteedVictims]));
  return { kind: 'victims', victims: [...bestEffortVictims, ...burstableVictims, ...guaranteedVictims] };
}

function isPreemptable(preemptor: Pod, pod: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const [higher, lower] = [preemptor.spec.priority, pod.spec.priority];
  return higher !== undefined && lower !== undefined && higher > lower;
}

/** Takes the pod that comes nearest to what is still required, until nothing is. The caller checks that the pods suffice. */
function chooseByDistance(pods: readonly Pod[], required: readonly RequiredResource[]): readonly Pod[] {
  const candidates = [...pods];
  const chosen: Pod[] = [];
  let open = required;
  while (open.length > 0) {
    const index = nearest(candidates, open);
    const victim = candidates[index];
    const last = candidates.pop();
    if (!victim || !last) break;
    chosen.push(victim);
    open = left(open, [victim]);
    // As in kubelet, the last candidate takes the place of the chosen one: the order decides between equal pods.
    if (index < candidates.length) candidates[index] = last;
  }
  return chosen;
}

/** The index of the pod with the least distance; of two at the same distance the one with the smaller requests. */
function nearest(candidates: readonly Pod[], required: readonly RequiredResource[]): number {
  let best = { index: 0, distance: required.length + 1 };
  for (const [index, pod] of candidates.entries()) {
    const distance = distanceOf(pod, required);
    const rival = candidates[best.index];
    const isSmaller = distance === best.distance && rival !== undefined && requestsLess(pod, rival);
    if (distance < best.distance || isSmaller) best = { index, distance };
  }
  return best.index;
}

/** The sum of squares of the fractions that would still be required without the pod: every resource weighs the same. */
function distanceOf(pod: Pod, required: readonly RequiredResource[]): number {
  return required.reduce((sum, { resource, amount }) => {
    const remaining = Number(amount - requestOf(pod, resource));
    return remaining > 0 ? sum + (remaining / Number(amount)) ** 2 : sum;
  }, 0);
}

/** What is still required when the pods have ended. */
function left(required: readonly RequiredResource[], pods: readonly Pod[]): readonly RequiredResource[] {
  return required
    .map(({ resource, amount }) => ({
      resource,
      amount: pods.reduce((rest, pod) => rest - requestOf(pod, resource), amount),
    }))
    .filter(({ amount }) => amount > 0n);
}

function requestsLess(pod: Pod, other: Pod): boolean {
  for (const resource of ['memory', 'cpu']) {
    const [own, others] = [requestOf(pod, resource), requestOf(other, resource)];
    if (own !== others) return own < others;
  }
  return true;
}

function notFoundText(required: readonly RequiredResource[]): string {
  const list = required.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  return `no set of running pods found to reclaim resources: [${list}]`;
}
