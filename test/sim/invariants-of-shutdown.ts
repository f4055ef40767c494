import type { Pod, PodStatus } from '../../src/api/generated/core-v1.ts';
import { isCriticalPod } from '../../src/kubelet/resources/critical-pod.ts';
import { type ShutdownPeriod, shutdownPeriods, totalSeconds } from '../../src/kubelet/shutdown/shutdown-groups.ts';
import type { CheckContext } from './check-context.ts';
import { gracePeriodSeconds, type PodRecord } from './pod-records.ts';
import type { Shutdown } from './sim-power.ts';

/** Until an end that was decided is shown, calls of the agent may hang. */
const SHOW_MS = 240_000;
/** The time of a few calls. */
const CALLS_MS = 2_500;
const LEAST_SECONDS = 2;

/** Reasons of pods that end although they are desired: by a shutdown, for a critical pod, or for lack of resources. */
const NODE_REASONS =
  /^(Terminated|NodeShutdown|Preempting|UnexpectedAdmissionError|TopologyAffinityError|SMTAlignmentError|OutOf\S+)$/;

export function isEndedByNode({ endReason = '' }: PodRecord): boolean {
  return NODE_REASONS.test(endReason);
}

/** A static pod had ended before this agent process started, which rejects it. */
export function isReadmitted({ overAt, reported }: PodRecord, status: PodStatus, context: CheckContext): boolean {
  const hadEnded = overAt !== undefined && overAt < context.agentStartedAt();
  return hadEnded && reported?.source === 'file' && NODE_REASONS.test(status.reason ?? '');
}

/** Checks the first status of a pod that says that the node has ended it. */
export function checkEndReason(pod: PodRecord, { reason = '' }: PodStatus, context: CheckContext): void {
  const { machine, now, fail } = context;
  if (pod.endReason === reason) return;
  const isShutDown = reason === 'Terminated' || reason === 'NodeShutdown';
  if (isShutDown && now() - (machine?.power.lastShutdownAt ?? Number.NEGATIVE_INFINITY) > SHOW_MS)
    fail(41, `${pod.uid} is shown as ${reason}, though the machine is not shutting down`);
  if (reason === 'Preempting') checkPreempted(pod, context);
}

function checkPreempted(pod: PodRecord, { records, fail }: CheckContext): void {
  const victim = pod.reported?.pod ?? pod.versions.at(-1);
  if (!victim) return;
  if (pod.reported?.source === 'file') fail(40, `${pod.uid} is preempted, though it is static`);
  const others = [...records.pods.values()].flatMap(({ uid, reported }) =>
    reported && uid !== pod.uid ? reported.pod : [],
  );
  if (!others.some((other) => outranks(other, victim)))
    fail(40, `${pod.uid} is preempted by no pod of a higher priority`);
}

function outranks(other: Pod, victim: Pod): boolean {
  if (isCriticalPod(other) && !isCriticalPod(victim)) return true;
  const [higher, lower] = [other.spec.priority, victim.spec.priority];
  return higher !== undefined && lower !== undefined && higher > lower;
}

/** Whether a container may have been stopped since then because the node ends its pod. */
export function mayBeEndedByNode(pod: PodRecord, sinceMs: number, { machine }: CheckContext): boolean {
  if (!machine) return false;
  return pod.preemptedAt !== undefined || isEndedByNode(pod) || machine.power.lastShutdownAt > sinceMs - SHOW_MS;
}

/** A pod that was reported during the shutdown does not start. */
export function checkNotAdmitted(pod: PodRecord, what: string, { machine, agentStartedAt, fail }: CheckContext): void {
  const shutdown = machine?.power.shutdown;
  if (!shutdown?.isDelayed || agentStartedAt() > shutdown.at || !pod.reported) return;
  if (pod.reported.firstAt > shutdown.at) fail(41, `${what}, which was reported during a shutdown`);
}

/** A container that is stopped by the shutdown: the pods of lower priorities have ended, or their time is over. */
export function checkShutdownStop(pod: PodRecord, seconds: number, context: CheckContext): void {
  const { machine, records, now, agentStartedAt, fail } = context;
  const shutdown = machine?.power.shutdown;
  const own = pod.reported?.pod;
  if (!machine?.plan.shutdown || !shutdown?.isDelayed || agentStartedAt() > shutdown.at || !own) return;
  const periods = shutdownPeriods(machine.plan.shutdown);
  const group = groupOf(own, periods);
  const most = Math.max(LEAST_SECONDS, Math.min(periods[group]?.seconds ?? 0, gracePeriodSeconds(own)));
  if (seconds > most) fail(41, `${pod.uid} was given ${seconds} s in a shutdown, but at most ${most} s are allowed`);
  const lower = [...records.pods.values()].filter(
    (each) => isActive(each, shutdown) && groupOf(each.reported?.pod ?? own, periods) < group,
  );
  const running = lower.find(hasRunning);
  const groups = new Set(lower.map((each) => groupOf(each.reported?.pod ?? own, periods)));
  const givenMs = Math.min(...[...groups].map((index) => (periods[index]?.seconds ?? 0) * 1000));
  if (running && now() - shutdown.at < givenMs) fail(41, `${pod.uid} ends in the shutdown before ${running.uid}`);
}

/** The agent still delays the shutdown. */
export function checkDelay(shutdown: Shutdown, { machine, now, agentStartedAt, fail }: CheckContext): void {
  if (!machine?.plan.shutdown || agentStartedAt() > shutdown.at) return;
  const mostMs = totalSeconds(shutdownPeriods(machine.plan.shutdown)) * 1000 + CALLS_MS;
  if (now() - shutdown.at > mostMs) fail(41, `the shutdown is delayed for ${now() - shutdown.at} ms`);
}

/** The agent has let the shutdown go on: the pods have ended, or had all of their time. */
export function checkRelease(shutdown: Shutdown, { machine, records, now, agentStartedAt, fail }: CheckContext): void {
  if (!machine?.plan.shutdown || !shutdown.isDelayed || agentStartedAt() > shutdown.at) return;
  const periods = shutdownPeriods(machine.plan.shutdown);
  for (const pod of records.pods.values()) {
    if (!pod.reported || !isActive(pod, shutdown) || !hasRunning(pod)) continue;
    const givenMs = (periods[groupOf(pod.reported.pod, periods)]?.seconds ?? 0) * 1000;
    if (now() - shutdown.at < givenMs) fail(41, `the shutdown goes on while ${pod.uid} runs`);
  }
}

/** The agent knew the pod before the shutdown, and it was desired. */
function isActive({ reported, isEvicted, overAt }: PodRecord, { at }: Shutdown): boolean {
  return reported?.as === 'wanted' && reported.firstAt < at && !isEvicted && (overAt === undefined || overAt >= at);
}

function hasRunning({ containers }: PodRecord): boolean {
  return containers.some(({ startedAt, endedAt }) => startedAt !== undefined && endedAt === undefined);
}

function groupOf({ spec: { priority = 0 } }: Pod, periods: readonly ShutdownPeriod[]): number {
  return Math.max(
    0,
    periods.findLastIndex((period) => period.priority <= priority),
  );
}
