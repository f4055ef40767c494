import type { PodStatus } from '../../src/api/generated/core-v1.ts';
import { isCriticalPod } from '../../src/kubelet/resources/critical-pod.ts';
import type { CheckContext } from './check-context.ts';
import type { PodRecord } from './pod-records.ts';

/** An eviction is decided right after a reading; until it is shown, calls of the agent may hang. */
const SHOW_MS = 240_000;

/** Checks the first status of a pod that says that it was evicted. */
export function checkEviction(pod: PodRecord, { reason }: PodStatus, { clusterState, fail, now }: CheckContext): void {
  if (reason !== 'Evicted') return;
  const isFirst = !pod.isEvicted;
  pod.isEvicted = true;
  if (!isFirst) return;
  const reported = pod.reported;
  if (reported && (reported.source === 'file' || isCriticalPod(reported.pod))) {
    fail(35, `${pod.uid} is evicted, though it is critical`);
  }
  if (now() - clusterState.lastShortAt > SHOW_MS) fail(35, `${pod.uid} is evicted, though the node is not short`);
}

/** Whether a container may have been stopped because its pod is evicted. */
export function mayBeEvicted(pod: PodRecord, sinceMs: number, { clusterState }: CheckContext): boolean {
  const { reported } = pod;
  if (reported?.source === 'file' || (reported && isCriticalPod(reported.pod))) return false;
  return clusterState.lastMemoryShortAt > sinceMs - SHOW_MS;
}
