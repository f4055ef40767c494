import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '../../src/api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isMirrorPod, podFullName } from '../../src/api/pod-names.ts';
import { POD_CONDITIONS } from './invariants-of-writes.ts';
import type { PodRecord } from './pod-records.ts';
import type { World } from './world.ts';

/** How long a status may take to reach the API server. */
const WRITE_MS = 5_000;

/** Long after the last fault: the API server has the latest status of each pod. */
export async function checkStatusesWritten(world: World): Promise<void> {
  const { cluster } = world;
  for (const key of cluster.keys) {
    const pod = await cluster.get(key);
    if (pod) checkStatus(pod.metadata.uid, pod, world);
  }
}

/** Long after the last fault: the API server has exactly one up-to-date mirror pod of every static pod. */
export async function checkMirrors(world: World): Promise<void> {
  const { cluster, context } = world;
  // Without a node object a mirror pod has no owner.
  if (context.sources === 1 || !(await cluster.node())) return;
  const mirrors = await mirrorsOf(world);
  for (const pod of context.records.pods.values()) {
    if (!pod.isWanted || pod.reported?.source !== 'file') continue;
    const mirror = mirrors.get(pod.fullName);
    mirrors.delete(pod.fullName);
    checkMirror(pod, mirror, world);
    if (mirror) checkStatus(pod.uid, mirror, world);
  }
  if (mirrors.size > 0) context.fail(15, `the API server has mirror pods without a static pod: ${[...mirrors.keys()]}`);
}

/** After this long without a fault the agent has read and written all its objects. */
const SETTLED_MS = 90_000;

/** While the API server answers, it has a mirror pod of each static pod that is not new. */
export async function checkMirrorsSoon(world: World): Promise<void> {
  const { context, agentProcess } = world;
  const { records, clusterState, now, agentStartedAt } = context;
  if (!agentProcess || context.sources === 1 || clusterState.nodeMissing || records.sourcesReported < context.sources)
    return;
  const quiet = Math.max(
    clusterState.apiFaultUntil,
    clusterState.nodeChangedAt,
    clusterState.mirrorsChangedAt,
    agentStartedAt(),
  );
  if (now() - quiet < SETTLED_MS || clusterState.firstRenewedAt === undefined) return;
  const mirrors = await mirrorsOf(world);
  const isNew = ({ reported }: PodRecord): boolean => now() - (reported?.at ?? now()) < SETTLED_MS;
  for (const pod of records.pods.values()) {
    if (!pod.isWanted || pod.reported?.source !== 'file' || pod.reported.as !== 'wanted') continue;
    if (!isNew(pod) && !hasPodOfSameName(pod, world)) checkMirror(pod, mirrors.get(pod.fullName), world);
  }
}

/** Another pod has the same name, or had it until recently. */
function hasPodOfSameName({ uid, fullName }: PodRecord, { context, runtime }: World): boolean {
  const { records, now } = context;
  const others = [...records.pods.values()].filter((each) => each.fullName === fullName && each.uid !== uid);
  const parts = [...runtime.sandboxes.values(), ...runtime.containers.values()].map((each) => records.podOf(each));
  return others.some((other) => parts.includes(other) || now() - other.changedAt < SETTLED_MS);
}

async function mirrorsOf({ cluster }: World): Promise<Map<string, Pod>> {
  return new Map((await cluster.pods()).filter(isMirrorPod).map((pod) => [podFullName(pod), pod]));
}

function checkMirror({ uid, versions }: PodRecord, mirror: Pod | undefined, { context }: World): void {
  const hash = versions.at(-1)?.metadata.annotations?.[CONFIG_HASH];
  const { annotations, deletionTimestamp } = mirror?.metadata ?? {};
  const shown = annotations?.[CONFIG_MIRROR];
  if (shown !== hash) context.fail(15, `the mirror pod of ${uid} has hash ${shown} instead of ${hash}`);
  if (deletionTimestamp !== undefined) context.fail(15, `the mirror pod of ${uid} is marked for deletion`);
}

/** `shown` is the pod of this UID or its mirror pod at the API server. */
function checkStatus(uid: string, shown: Pod, { context, agentProcess }: World): void {
  const record = context.records.pods.get(uid);
  const formed = agentProcess?.agent?.pods().find(({ pod }) => pod.metadata.uid === uid)?.status;
  if (!record || !formed || isFresh(record, context.now())) return;
  const [own, written] = [formed, shown.status ?? {}].map(agentFields);
  for (const [field, value] of Object.entries(own ?? {})) {
    const there = new Map<string, unknown>(Object.entries(written ?? {})).get(field);
    if (!isDeepStrictEqual(value, there)) {
      const [is, was] = [value, there].map((each) => JSON.stringify(each));
      context.fail(15, `${field} of ${uid} is ${is}, but at the API server ${was}`);
    }
  }
}

function isFresh({ statusAt, changedAt }: PodRecord, nowMs: number): boolean {
  return nowMs - Math.max(statusAt, changedAt) < WRITE_MS;
}

/** The fields that only the agent writes. */
function agentFields(status: PodStatus): Readonly<Record<string, unknown>> {
  const { phase, reason, message, podIPs, conditions = [] } = status;
  const own = conditions.filter(({ type }) => POD_CONDITIONS.includes(type));
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  const fields = {
    phase,
    reason,
    message,
    podIPs,
    containerStatuses,
    initContainerStatuses,
    ephemeralContainerStatuses,
    conditions: Object.fromEntries(own.map((each) => [each.type, [each.status, each.reason, each.message]])),
  };
  return JSON.parse(JSON.stringify(fields)) as Readonly<Record<string, unknown>>; // as it goes over the wire
}
