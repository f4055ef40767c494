import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import { type CheckContext, roleOf } from './check-context.ts';
import { mayBeEvicted } from './invariants-of-pressure.ts';
import { hasRestartedAll } from './invariants-of-restarts.ts';
import { checkShutdownStop, mayBeEndedByNode } from './invariants-of-shutdown.ts';
import { exceedsNode } from './plan-claims.ts';
import { type ContainerRecord, gracePeriodSeconds, type PodRecord } from './pod-records.ts';

/** The minimum grace period of every container. */
const LEAST_SECONDS = 2;

export function checkStop(pod: PodRecord, record: ContainerRecord, seconds: number, context: CheckContext): void {
  const what = `${pod.uid}/${record.name}`;
  const most = Math.max(LEAST_SECONDS, longestAllowed(pod, record, context));
  if (seconds > most) context.fail(8, `${what} was given ${seconds} s to end, but at most ${most} s are allowed`);
  if (hasReasonToStop(pod, record, context)) return;
  if (!mayBeEndedByNode(pod, context.now(), context)) context.fail(10, `${what} was stopped without a reason`);
  checkShutdownStop(pod, seconds, context);
}

/** The smallest grace period requested from this agent process, else the largest that the pod itself allows. */
function longestAllowed(pod: PodRecord, { name }: ContainerRecord, { records, sources, now }: CheckContext): number {
  const isEnding = pod.reported && pod.reported.as !== 'wanted' && pod.reported.at < now();
  if (isEnding) return Math.min(...pod.requestedGraces);
  if (!pod.reported && records.sourcesReported === sources) return 1;
  return Math.max(...pod.versions.map(gracePeriodSeconds), ...probeGraces(pod, name));
}

export function checkKill(pod: PodRecord, record: ContainerRecord, context: CheckContext): void {
  const { fail, now } = context;
  const what = `${pod.uid}/${record.name}`;
  if (record.stopRequestedAt === undefined) return fail(9, `${what} was killed without a termination request`);
  // Its preStop hook counts against the grace period.
  const had = now() - Math.min(record.stopRequestedAt, record.preStop?.firstAt ?? record.stopRequestedAt);
  const since = record.stopRequestedAt;
  const isEvicted = mayBeEvicted(pod, since, context) || mayBeEndedByNode(pod, since, context);
  const least = 1000 * (isEvicted ? LEAST_SECONDS : Math.max(LEAST_SECONDS, shortestAllowed(pod, record)));
  if (had < least) fail(9, `${what} was killed after ${had} ms instead of ${least}`);
}

function shortestAllowed(pod: PodRecord, { name, stopRequestedAt = 0, wasOrphan }: ContainerRecord): number {
  // Orphans get the minimum, and sidecars get what the main containers leave.
  if (!pod.reported || wasOrphan || pod.reported.at >= stopRequestedAt || roleOf(pod, name) === 'sidecar')
    return LEAST_SECONDS;
  const sleeps = pod.versions.flatMap(
    ({ spec }) => findContainer(spec, name)?.lifecycle?.preStop?.sleep?.seconds ?? [],
  );
  return Math.min(...pod.versions.map(gracePeriodSeconds), ...probeGraces(pod, name)) - Math.max(0, ...sleeps);
}

function probeGraces({ versions }: PodRecord, name: string): number[] {
  const containers = versions.flatMap(({ spec }) => [...(spec.initContainers ?? []), ...spec.containers]);
  return containers
    .filter((container) => container.name === name)
    .flatMap(({ livenessProbe, startupProbe }) => [
      livenessProbe?.terminationGracePeriodSeconds ?? [],
      startupProbe?.terminationGracePeriodSeconds ?? [],
    ])
    .flat();
}

/** Whether anything visible from outside the agent justifies stopping a running container. */
function hasReasonToStop(pod: PodRecord, record: ContainerRecord, context: CheckContext): boolean {
  const { records, runtime, now } = context;
  if (mayBeEvicted(pod, now(), context)) return true;
  const wasUnwanted = !pod.isWanted || pod.unwantedAt >= record.createdAt;
  const latest = pod.versions.at(-1);
  if (wasUnwanted || hasRestartedAll(pod) || (latest && exceedsNode(latest))) return true;
  const spec = latest?.spec;
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const wanted = all.find(({ name }) => name === record.name);
  if (wanted?.image !== record.image || wanted.livenessProbe || wanted.startupProbe) return true;
  if (wanted.lifecycle?.postStart) return true; // a failed exec call counts as a failed hook
  const others = [...runtime.sandboxes.values()].filter(
    (each) => records.podOf(each) === pod && each.state === 'ready',
  );
  if (others.length !== 1 || others[0]?.id !== record.sandboxId) return true;
  // The end of the pod ends its sidecars: all main containers have ended, or an init container has failed for good.
  if (roleOf(pod, record.name) !== 'sidecar') return false;
  const newest = (name: string): ContainerRecord | undefined => pod.containers.findLast((each) => each.name === name);
  const isEnding = (record: ContainerRecord | undefined): boolean =>
    (record?.stopRequestedAt ?? record?.endedAt) !== undefined;
  const allEnded = spec?.containers.every(({ name }) => isEnding(newest(name))) ?? false;
  const hasFailed = spec?.initContainers?.some(({ name }) => (newest(name)?.exitCode ?? 0) !== 0) ?? false;
  return allEnded || (hasFailed && spec?.restartPolicy === 'Never');
}
