import type { Lease, Node } from '../../../api/generated/core-v1.ts';
import { parseTime } from '../../../base/rfc3339.ts';

/** What was last seen of the lease of another machine, by a clock that does not jump. */
export interface LeaseObservation {
  readonly renewTime: string;
  readonly sinceMs: number;
}

/** The node object is of another machine: it says so, and that machine is not ours. */
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
 * How long the other machine may still be alive; zero when it is not. Its time is believed as far as it is older than ours;
 * a lease from the future lasts as long as it was not renewed since we saw it.
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
