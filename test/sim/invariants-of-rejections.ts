import type { PodStatus } from '../../src/api/generated/core-v1.ts';
import { isBeyondNode } from './plan-claims.ts';
import type { Scene } from './scene.ts';
import type { PodRecord } from './truth.ts';

/** Why a pod may be rejected for what others have of the node. */
const SHORTAGES = /^(OutOf\w+|NodePorts)$/;

/** Pods of different names never need the same of the node, and those of one name are never up together. */
export function checkRejection(pod: PodRecord, { reason = '' }: PodStatus, { fail }: Scene): void {
  const told = pod.told?.pod;
  if (!told || !SHORTAGES.test(reason) || isBeyondNode(told)) return;
  fail(31, `${pod.uid} is rejected with ${reason}, though the node can hold it`);
}
