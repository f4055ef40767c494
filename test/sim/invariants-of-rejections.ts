import type { PodStatus } from '../../src/api/generated/core-v1.ts';
import type { CheckContext } from './check-context.ts';
import { exceedsNode } from './plan-claims.ts';
import type { PodRecord } from './pod-records.ts';

/** Rejection reasons that depend on other pods. */
const SHORTAGES = /^(OutOf\w+|NodePorts)$/;

/** Pods of different names never compete for resources or ports, and pods of one name never run together. */
export function checkRejection(pod: PodRecord, { reason = '' }: PodStatus, { fail }: CheckContext): void {
  const reported = pod.reported?.pod;
  if (!reported || !SHORTAGES.test(reason) || exceedsNode(reported)) return;
  fail(31, `${pod.uid} is rejected with ${reason}, though the node has room for it`);
}
