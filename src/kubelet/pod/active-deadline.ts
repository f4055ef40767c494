import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { PodFailure } from './pod-failure.ts';

export const DEADLINE_EXCEEDED: PodFailure = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * Milliseconds until the active deadline; zero or negative when it has passed. `undefined` without a deadline or before
 * the pod has a start time.
 */
export function activeTimeLeft({ spec }: Pod, status: PodStatus | undefined, nowMs: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status?.startTime === undefined) return undefined;
  return parseTime(status.startTime) + spec.activeDeadlineSeconds * 1000 - nowMs;
}
