import type { Lease, Node } from '../../../api/generated/core-v1.ts';
import { parseTime } from '../../../base/rfc3339.ts';

/** The last observed renewal of another machine's lease, in monotonic time. */
export interface LeaseObservation {
  readonly renewTime: string;
  readonly sinceMs: number;
}

/** The node object has the machine id of another machine. */
export function belongsToOtherMachine({ status }: Node, machineId: string): boolean {
  const other = status?.nodeInfo?.machineID ?? '';
  return other !== '' && machineId !== '' && other !== machineId;
}

export function observeLease(
  lease: Lease | undefined,
  before: LeaseObservation | undefined,
  nowMs: number,
): LeaseObservation | undefined {
  const renewTime = lease?.spec.renewTime;
  if (renewTime === undefined) return undefined;
  return before?.renewTime === renewTime ? before : { renewTime, sinceMs: nowMs };
}

/**
 * How long the other machine may still be alive; zero if its lease has expired. Its renew time is used as far as it is
 * in the past; a lease from the future expires if it is not renewed after it was observed.
 */
export function leaseRemainingMs(
  lease: Lease,
  { sinceMs }: LeaseObservation,
  now: { readonly wallMs: number; readonly monotonicMs: number },
): number {
  const durationMs = (lease.spec.leaseDurationSeconds ?? 0) * 1000;
  const renewedMs = lease.spec.renewTime === undefined ? 0 : parseTime(lease.spec.renewTime);
  return Math.max(0, Math.min(renewedMs + durationMs - now.wallMs, sinceMs + durationMs - now.monotonicMs));
}
