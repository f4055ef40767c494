import type { PodStatus } from '../../src/api/generated/core-v1.ts';
import { podRequests } from '../../src/api/pod-resources.ts';
import { qosClass } from '../../src/api/qos.ts';
import type { CheckContext } from './check-context.ts';
import { exceedsNode } from './plan-claims.ts';
import { DEVICES } from './plan-machine.ts';
import type { ContainerRecord, PodRecord } from './pod-records.ts';

/** Rejection reasons that depend on other pods. */
const SHORTAGES = /^(OutOf\w+.*|NodePorts)$/;
/** Reasons of managers that cannot assign resources. */
const UNASSIGNABLE = /^(UnexpectedAdmissionError|TopologyAffinityError|SMTAlignmentError)$/;

/**
 * Pods of different names never compete for ports, and pods of one name never run together. They compete for resources only
 * where those are assigned.
 */
export function checkRejection(pod: PodRecord, { reason = '' }: PodStatus, { machine, fail }: CheckContext): void {
  const reported = pod.reported?.pod;
  if (!reported || exceedsNode(reported)) return;
  if ((SHORTAGES.test(reason) || UNASSIGNABLE.test(reason)) && pod.containers.some(isRunning))
    fail(38, `${pod.uid} is rejected with ${reason}, though it runs`);
  const requests = podRequests(reported);
  const competes = machine !== undefined && requests.has(reason.replace(/^OutOf/, ''));
  if (SHORTAGES.test(reason) && !competes)
    fail(31, `${pod.uid} is rejected with ${reason}, though the node has room for it`);
  const isAssigned = qosClass(reported) === 'Guaranteed' || [...requests.keys()].some((name) => DEVICES.has(name));
  if (UNASSIGNABLE.test(reason) && !(machine && isAssigned))
    fail(31, `${pod.uid} is rejected with ${reason}, though it requests nothing that is assigned`);
}

function isRunning({ startedAt, endedAt }: ContainerRecord): boolean {
  return startedAt !== undefined && endedAt === undefined;
}
