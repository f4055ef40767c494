import { isDeepStrictEqual } from 'node:util';
import type { Node, NodeCondition, Pod, PodCondition } from '../../src/api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isMirrorPod, podFullName } from '../../src/api/pod-names.ts';
import { parseTime } from '../../src/base/rfc3339.ts';
import type { Mounts } from '../../src/host/mounts.ts';
import type { ApiWrite } from './observed-api.ts';
import type { Scene } from './scene.ts';
import type { PodRecord } from './truth.ts';

/** All that a node says of itself; the rest is others'. */
const NODE_CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
const NODE_LABELS = ['kubernetes.io/hostname', 'kubernetes.io/os', 'kubernetes.io/arch', 'beta.kubernetes.io/os'];
const NODE_ANNOTATIONS = [
  'volumes.kubernetes.io/controller-managed-attach-detach',
  'alpha.kubernetes.io/provided-node-ip',
];
export const POD_CONDITIONS: readonly string[] = [
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
];

/** From the moment that a status is formed to the moment that it is written. */
const WRITE_MS = 12_000;
/** What the agent was told so long ago it has thought of. */
const THINK_MS = 2_000;
/** After a jump of the clock nobody can tell how old a lease is. */
const JUMP_MS = 60_000;

/** The agent has changed something at the API server. */
export function checkWrite(write: ApiWrite, scene: Scene): void {
  const { book, now } = scene;
  switch (write.resource) {
    case 'leases':
      checkRival('lease', scene);
      return book.renewed();
    case 'nodes':
      checkRival('node', scene);
      if (write.before && write.after) checkNodeWrite(write.before, write.after, scene);
      if (write.verb === 'create') checkRegistration(scene);
      book.nodeWrittenAt = now();
      return;
    case 'pods':
      if (write.verb === 'delete' && write.before) return checkPodDeletion(write.before, write.uid, scene);
      if (write.before && write.after) checkPodWrite(write.before, write.after, scene);
      return;
    default:
      return;
  }
}

/** A node that was deleted is made anew by the next life, not before. */
function checkRegistration({ book, fail }: Scene): void {
  const { nodeMissing, firstRenewedAt = Number.POSITIVE_INFINITY } = book;
  if (nodeMissing?.life === book.life && firstRenewedAt < nodeMissing.since) fail(26, 'the node was made anew');
  book.nodeMissing = undefined;
}

/** Nothing is written while another machine lives under the name of the node. */
function checkRival(what: string, { book, now, jumpedAt, fail }: Scene): void {
  if (now() < book.rivalUntil && now() - jumpedAt() > JUMP_MS) {
    fail(26, `the ${what} was written while another machine is alive under its name`);
  }
}

function checkNodeWrite(before: Node, after: Node, scene: Scene): void {
  const { fail } = scene;
  if (!isDeepStrictEqual(before.spec, after.spec)) fail(25, 'the spec of the node was changed');
  checkKept('label of the node', before.metadata.labels, after.metadata.labels, NODE_LABELS, scene);
  checkKept('annotation of the node', before.metadata.annotations, after.metadata.annotations, NODE_ANNOTATIONS, scene);
  const [was, is] = [before.status?.conditions ?? [], after.status?.conditions ?? []];
  checkForeign('the node', was, is, NODE_CONDITIONS, scene);
  checkTransitions(was, is, scene);
}

function checkPodWrite(before: Pod, after: Pod, scene: Scene): void {
  const what = before.metadata.uid;
  if (!isDeepStrictEqual(before.spec, after.spec)) scene.fail(25, `the spec of ${what} was changed`);
  checkKept(`label of ${what}`, before.metadata.labels, after.metadata.labels, [], scene);
  checkKept(`annotation of ${what}`, before.metadata.annotations, after.metadata.annotations, [], scene);
  checkForeign(what, before.status?.conditions ?? [], after.status?.conditions ?? [], POD_CONDITIONS, scene);
}

type Texts = Readonly<Record<string, string>>;

function checkKept(what: string, was: Texts = {}, is: Texts = {}, own: readonly string[], { fail }: Scene): void {
  for (const [name, value] of Object.entries(was)) {
    if (!own.includes(name) && is[name] !== value) fail(25, `the ${what} ${name} went from ${value} to ${is[name]}`);
  }
}

type Condition = NodeCondition | PodCondition;

/** What others say stays as they say it. */
function checkForeign(
  what: string,
  was: readonly Condition[],
  is: readonly Condition[],
  own: readonly string[],
  { fail }: Scene,
): void {
  for (const before of was.filter(({ type }) => !own.includes(type))) {
    const after = is.find(({ type }) => type === before.type);
    if (!isDeepStrictEqual(before, after)) fail(25, `the condition ${before.type} of ${what} is another`);
  }
}

/** Since when the node is as it is: since it was not. */
function checkTransitions(was: readonly Condition[], is: readonly Condition[], scene: Scene): void {
  const { fail, wallMs, now, jumpedAt } = scene;
  for (const after of is.filter(({ type }) => NODE_CONDITIONS.includes(type))) {
    const before = was.find(({ type }) => type === after.type);
    const since = after.lastTransitionTime ?? '';
    const what = `${after.type} of the node is ${after.status} since ${since}`;
    if (before?.status === after.status) {
      if (before.lastTransitionTime !== since) fail(25, `${what}, as it was before`);
    } else if (now() - jumpedAt() > WRITE_MS) {
      const ageMs = wallMs() - parseTime(since);
      if (ageMs < 0 || ageMs > WRITE_MS) fail(25, `${what}, which is not now`);
    }
  }
}

function checkPodDeletion(pod: Pod, uid: string | undefined, scene: Scene): void {
  const { fail } = scene;
  if (uid === undefined) fail(27, `${pod.metadata.uid} was deleted, whoever has its name now`);
  if (isMirrorPod(pod)) return checkMirrorDeletion(pod, scene);
  const record = scene.truth.pods.get(pod.metadata.uid);
  const what = `${pod.metadata.uid} was deleted`;
  if (pod.metadata.deletionTimestamp === undefined) return fail(27, `${what}, which nobody has asked for`);
  if (pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed') fail(27, `${what} as ${pod.status?.phase}`);
  if (record) checkLastWord(record, pod, scene);
}

/** Nothing of it runs, and the server was told how it ended. */
function checkLastWord({ uid }: PodRecord, { status }: Pod, { truth, runtime, fail }: Scene): void {
  const running = [...runtime.containers.values()].find(
    (each) => truth.podOf(each)?.uid === uid && each.state.phase === 'running',
  );
  if (running) fail(27, `${uid} was deleted while a container of it runs`);
  for (const { name, containerID = '', state } of status?.containerStatuses ?? []) {
    const record = truth.containers.get(containerID.replace(/^.*:\/\//, ''));
    const shown = state?.terminated?.exitCode;
    if (record?.endedAt !== undefined && shown !== record.exitCode) {
      fail(27, `${uid} was deleted, and nobody was told that ${name} has ended with ${record.exitCode}`);
    }
  }
}

/** A pod is deleted when nothing that it used is held any more. */
export async function checkReleased(write: ApiWrite, { fail }: Scene, mounts: Pick<Mounts, 'list'>): Promise<void> {
  if (write.resource !== 'pods' || write.verb !== 'delete' || !write.before || isMirrorPod(write.before)) return;
  const { uid } = write.before.metadata;
  const held = (await mounts.list()).find(({ target }) => target.includes(`/pods/${uid}/`));
  if (held) fail(27, `${uid} was deleted while ${held.target} is mounted`);
}

function checkMirrorDeletion(mirror: Pod, { truth, now, fail }: Scene): void {
  const { annotations, deletionTimestamp } = mirror.metadata;
  if (deletionTimestamp !== undefined) return;
  const shown = [...truth.pods.values()].find(({ fullName, told, isWanted }) => {
    const isShown = told?.pod.metadata.annotations?.[CONFIG_HASH] === annotations?.[CONFIG_MIRROR];
    const isOld = told !== undefined && now() - told.at > THINK_MS;
    return fullName === podFullName(mirror) && isWanted && told?.as === 'wanted' && isShown && isOld;
  });
  if (shown) fail(27, `the mirror of ${shown.uid} was deleted, though it shows how the pod is`);
}
