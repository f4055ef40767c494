import type { Pod } from '../../api/generated/core-v1.ts';
import { choosePodsToPreempt } from '../preemption/choose-victims.ts';
import { isCriticalPod } from '../resources/critical-pod.ts';
import { hostPortsPredicate } from './host-ports-predicate.ts';
import { nodeAffinityPredicate } from './node-affinity-predicate.ts';
import { nodeNamePredicate } from './node-name-predicate.ts';
import { nodeResourcesPredicate } from './node-resources-predicate.ts';
import type {
  InsufficientResource,
  PodAdmitHandler,
  PodPreemption,
  PodRejection,
  Predicate,
  PredicateFailure,
} from './pod-admit-handler.ts';
import { taintPredicate } from './taint-predicate.ts';

/** In kubelet's order: the first failure is the reason of the rejection. */
const PREDICATES: readonly Predicate[] = [
  nodeResourcesPredicate,
  nodeAffinityPredicate,
  nodeNamePredicate,
  hostPortsPredicate,
  taintPredicate,
];

/** Rejects pods that do not fit on the node. A critical pod that lacks only resources preempts other pods. */
export const predicateHandler: PodAdmitHandler = (pod, view) => {
  const failures = PREDICATES.flatMap((predicate) => predicate(pod, view));
  const [first] = failures;
  if (!first) return undefined;
  if (!isCriticalPod(pod) || view.preempts === false) return rejectionOf(first);
  const other = failures.find(({ kind }) => kind === 'predicate');
  if (other) return rejectionOf(other);
  const scarce = failures.filter((failure) => failure.kind === 'insufficientResource');
  return preempt(pod, view.otherPods, scarce);
};

function preempt(
  pod: Pod,
  otherPods: readonly Pod[],
  scarce: readonly InsufficientResource[],
): PodRejection | PodPreemption {
  const required = scarce.map(({ resource, requested, used, capacity }) => ({
    resource,
    amount: requested - (capacity - used),
  }));
  const choice = choosePodsToPreempt(pod, otherPods, required);
  if (choice.kind === 'victims') return { victims: choice.victims, resource: required[0]?.resource ?? '' };
  const message = `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ${choice.error}`;
  return { reason: 'UnexpectedAdmissionError', message };
}

function rejectionOf(failure: PredicateFailure): PodRejection {
  if (failure.kind === 'predicate') {
    const { name, description } = failure;
    return { reason: name, message: `Predicate ${name} failed: ${description}` };
  }
  const { resource, requested, used, capacity } = failure;
  const numbers = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${numbers}` };
}
