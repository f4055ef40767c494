import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '../../src/api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isMirrorPod, podFullName } from '../../src/api/pod-names.ts';
import { POD_CONDITIONS } from './invariants-of-writes.ts';
import type { PodRecord } from './truth.ts';
import type { World } from './world.ts';

/** So long a status may take to the API server. */
const WRITE_MS = 5_000;

/** Long after the last fault: the API server has the last status that the agent has formed of each pod. */
export async function checkWritten(world: World): Promise<void> {
  const { cluster } = world;
  for (const key of cluster.keys) {
    const pod = await cluster.get(key);
    if (pod) checkStatus(pod.metadata.uid, pod, world);
  }
}

/** Long after the last fault: the API server has one mirror of every static pod, of no other, and as it is. */
export async function checkMirrors(world: World): Promise<void> {
  const { cluster, scene } = world;
  // Without a node there is nobody to whom a mirror could belong.
  if (scene.sources === 1 || !(await cluster.node())) return;
  const mirrors = await mirrorsOf(world);
  for (const pod of scene.truth.pods.values()) {
    if (!pod.isWanted || pod.told?.source !== 'file') continue;
    const mirror = mirrors.get(pod.fullName);
    mirrors.delete(pod.fullName);
    checkMirror(pod, mirror, world);
    if (mirror) checkStatus(pod.uid, mirror, world);
  }
  if (mirrors.size > 0) scene.fail(15, `the API server has mirrors of nothing: ${[...mirrors.keys()]}`);
}

/** After so long without trouble the agent has seen all that the API server has, and has had its say. */
const SETTLED_MS = 90_000;

/** At every moment at which the API server answers it has a mirror of each static pod that is not new. */
export async function checkMirrorsSoon(world: World): Promise<void> {
  const { scene, life } = world;
  const { truth, book, now, bornAt } = scene;
  if (!life || scene.sources === 1 || book.nodeMissing || truth.sourcesHeard < scene.sources) return;
  const quiet = Math.max(book.troubleUntil, book.nodeMeddledAt, book.mirrorsMeddledAt, bornAt());
  if (now() - quiet < SETTLED_MS || book.firstRenewedAt === undefined) return;
  const mirrors = await mirrorsOf(world);
  const isNew = ({ told }: PodRecord): boolean => now() - (told?.at ?? now()) < SETTLED_MS;
  for (const pod of truth.pods.values()) {
    if (!pod.isWanted || pod.told?.source !== 'file' || pod.told.as !== 'wanted') continue;
    if (!isNew(pod) && !hasNamesake(pod, world)) checkMirror(pod, mirrors.get(pod.fullName), world);
  }
}

/** Another pod has the name still, or had it until just now. */
function hasNamesake({ uid, fullName }: PodRecord, { scene, runtime }: World): boolean {
  const { truth, now } = scene;
  const others = [...truth.pods.values()].filter((each) => each.fullName === fullName && each.uid !== uid);
  const parts = [...runtime.sandboxes.values(), ...runtime.containers.values()].map((each) => truth.podOf(each));
  return others.some((other) => parts.includes(other) || now() - other.changedAt < SETTLED_MS);
}

async function mirrorsOf({ cluster }: World): Promise<Map<string, Pod>> {
  return new Map((await cluster.pods()).filter(isMirrorPod).map((pod) => [podFullName(pod), pod]));
}

function checkMirror({ uid, versions }: PodRecord, mirror: Pod | undefined, { scene }: World): void {
  const hash = versions.at(-1)?.metadata.annotations?.[CONFIG_HASH];
  const { annotations, deletionTimestamp } = mirror?.metadata ?? {};
  const shown = annotations?.[CONFIG_MIRROR];
  if (shown !== hash) scene.fail(15, `the mirror of ${uid} is of ${shown} instead of ${hash}`);
  if (deletionTimestamp !== undefined) scene.fail(15, `the mirror of ${uid} is to be deleted`);
}

/** `shown`: as the API server has the pod of this UID, itself or as a mirror. */
function checkStatus(uid: string, shown: Pod, { scene, life }: World): void {
  const record = scene.truth.pods.get(uid);
  const formed = life?.agent?.pods().find(({ pod }) => pod.metadata.uid === uid)?.status;
  if (!record || !formed || isFresh(record, scene.now())) return;
  const [own, written] = [formed, shown.status ?? {}].map(toldOf);
  for (const [field, value] of Object.entries(own ?? {})) {
    const there = new Map<string, unknown>(Object.entries(written ?? {})).get(field);
    if (!isDeepStrictEqual(value, there)) {
      const [is, was] = [value, there].map((each) => JSON.stringify(each));
      scene.fail(15, `${field} of ${uid} is ${is}, and at the API server ${was}`);
    }
  }
}

function isFresh({ statusAt, changedAt }: PodRecord, nowMs: number): boolean {
  return nowMs - Math.max(statusAt, changedAt) < WRITE_MS;
}

/** What the agent alone says. */
function toldOf(status: PodStatus): Readonly<Record<string, unknown>> {
  const { phase, reason, message, podIPs, conditions = [] } = status;
  const own = conditions.filter(({ type }) => POD_CONDITIONS.includes(type));
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  const told = {
    phase,
    reason,
    message,
    podIPs,
    containerStatuses,
    initContainerStatuses,
    ephemeralContainerStatuses,
    conditions: Object.fromEntries(own.map((each) => [each.type, [each.status, each.reason, each.message]])),
  };
  return JSON.parse(JSON.stringify(told)) as Readonly<Record<string, unknown>>; // as it goes over the wire
}
