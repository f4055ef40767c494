import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import { hasRestartedAll } from './invariants-of-restarts.ts';
import { isBeyondNode } from './plan-claims.ts';
import { roleOf, type Scene } from './scene.ts';
import { type ContainerRecord, graceOf, type PodRecord } from './truth.ts';

/** What every container gets to end, whoever asks. */
const LEAST_SECONDS = 2;

export function checkStop(pod: PodRecord, record: ContainerRecord, seconds: number, scene: Scene): void {
  const what = `${pod.uid}/${record.name}`;
  const most = Math.max(LEAST_SECONDS, longestAllowed(pod, record, scene));
  if (seconds > most) scene.fail(8, `${what} was given ${seconds} s to end, though ${most} s were promised`);
  if (!hasReasonToStop(pod, record, scene)) scene.fail(10, `${what} was stopped though it ran as wanted`);
}

/** The smallest that was asked for in this life of the agent, else the largest that the pod itself allows. */
function longestAllowed(pod: PodRecord, { name }: ContainerRecord, { truth, sources, now }: Scene): number {
  const isEnding = pod.told && pod.told.as !== 'wanted' && pod.told.at < now();
  if (isEnding) return Math.min(...pod.asked);
  if (!pod.told && truth.sourcesHeard === sources) return 1;
  return Math.max(...pod.versions.map(graceOf), ...probeGraces(pod, name));
}

export function checkKill(pod: PodRecord, record: ContainerRecord, { fail, now }: Scene): void {
  const what = `${pod.uid}/${record.name}`;
  if (record.askedAt === undefined) return fail(9, `${what} was killed without having been asked to end`);
  // Its preStop hook has taken from its time.
  const had = now() - Math.min(record.askedAt, record.preStop?.firstAt ?? record.askedAt);
  const least = 1000 * Math.max(LEAST_SECONDS, shortestAllowed(pod, record));
  if (had < least) fail(9, `${what} was killed after ${had} ms instead of ${least}`);
}

function shortestAllowed(pod: PodRecord, { name, askedAt = 0, wasLeftover }: ContainerRecord): number {
  // What no source has spoken of gets the least, and sidecars get what the others have left.
  if (!pod.told || wasLeftover || pod.told.at >= askedAt || roleOf(pod, name) === 'sidecar') return LEAST_SECONDS;
  const sleeps = pod.versions.flatMap(({ spec }) => findContainer(spec, name)?.lifecycle?.preStop?.sleep?.seconds ?? []);
  return Math.min(...pod.versions.map(graceOf), ...probeGraces(pod, name)) - Math.max(0, ...sleeps);
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

/** Whether there is anything, seen from outside the agent, for which a running container may be stopped. */
function hasReasonToStop(pod: PodRecord, record: ContainerRecord, { truth, runtime }: Scene): boolean {
  const wasUnwanted = !pod.isWanted || pod.unwantedAt >= record.createdAt;
  const latest = pod.versions.at(-1);
  if (wasUnwanted || hasRestartedAll(pod) || (latest && isBeyondNode(latest))) return true;
  const spec = latest?.spec;
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const wanted = all.find(({ name }) => name === record.name);
  if (wanted?.image !== record.image || wanted.livenessProbe || wanted.startupProbe) return true;
  if (wanted.lifecycle?.postStart) return true; // a call that failed is a hook that failed
  const others = [...runtime.sandboxes.values()].filter((each) => truth.podOf(each) === pod && each.state === 'ready');
  if (others.length !== 1 || others[0]?.id !== record.sandboxId) return true;
  // The end of the pod ends its sidecars: all main containers have ended, or an init container has failed for good.
  if (roleOf(pod, record.name) !== 'sidecar') return false;
  const newest = (name: string): ContainerRecord | undefined => pod.containers.findLast((each) => each.name === name);
  const isEnding = (record: ContainerRecord | undefined): boolean => (record?.askedAt ?? record?.endedAt) !== undefined;
  const allEnded = spec?.containers.every(({ name }) => isEnding(newest(name))) ?? false;
  const hasFailed = spec?.initContainers?.some(({ name }) => (newest(name)?.exitCode ?? 0) !== 0) ?? false;
  return allEnded || (hasFailed && spec?.restartPolicy === 'Never');
}
