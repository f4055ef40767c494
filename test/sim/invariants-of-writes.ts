import { isDeepStrictEqual } from 'node:util';
import type { Node, NodeCondition, Pod, PodCondition } from '../../src/api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isMirrorPod, podFullName } from '../../src/api/pod-names.ts';
import { parseTime } from '../../src/base/rfc3339.ts';
import type { Mounts } from '../../src/host/mounts.ts';
import type { CheckContext } from './check-context.ts';
import type { ApiWrite } from './observed-api.ts';
import type { PodRecord } from './pod-records.ts';

/** The fields of a node that the agent owns; others belong to other clients. */
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

/** The longest time between composing and writing a status. */
const WRITE_MS = 12_000;
/** The time in which the agent acts on a received change. */
const REACT_MS = 2_000;
/** After a jump of the clock the age of a lease is unknown for this long. */
const JUMP_MS = 60_000;

/** Checks a write of the agent to the API server. */
export function checkWrite(write: ApiWrite, context: CheckContext): void {
  const { clusterState, now } = context;
  switch (write.resource) {
    case 'leases':
      checkOtherMachine('lease', context);
      return clusterState.renewed();
    case 'nodes':
      checkOtherMachine('node', context);
      if (write.before && write.after) checkNodeWrite(write.before, write.after, context);
      if (write.verb === 'create') checkRegistration(context);
      clusterState.nodeWrittenAt = now();
      return;
    case 'pods':
      if (write.verb === 'delete' && write.before) return checkPodDeletion(write.before, write.uid, context);
      if (write.before && write.after) checkPodWrite(write.before, write.after, context);
      if (write.after) noteWrittenPhase(write.after, context);
      return;
    default:
      return;
  }
}

/** A deleted node is recreated by the next agent process, not before. */
function checkRegistration({ clusterState, fail }: CheckContext): void {
  const { nodeMissing, firstRenewedAt = Number.POSITIVE_INFINITY } = clusterState;
  if (nodeMissing?.processNumber === clusterState.processNumber && firstRenewedAt < nodeMissing.since)
    fail(26, 'the node was recreated by the same agent process');
  clusterState.nodeMissing = undefined;
}

/** Nothing is written while another machine holds the lease of the node's name. */
function checkOtherMachine(what: string, { clusterState, now, jumpedAt, fail }: CheckContext): void {
  if (now() < clusterState.otherMachineUntil && now() - jumpedAt() > JUMP_MS) {
    fail(26, `the ${what} was written while another machine holds the lease`);
  }
}

function checkNodeWrite(before: Node, after: Node, context: CheckContext): void {
  const { fail } = context;
  if (!isDeepStrictEqual(before.spec, after.spec)) fail(25, 'the spec of the node was changed');
  checkKept('label of the node', before.metadata.labels, after.metadata.labels, NODE_LABELS, context);
  checkKept(
    'annotation of the node',
    before.metadata.annotations,
    after.metadata.annotations,
    NODE_ANNOTATIONS,
    context,
  );
  const [was, is] = [before.status?.conditions ?? [], after.status?.conditions ?? []];
  checkForeignConditions('the node', was, is, NODE_CONDITIONS, context);
  checkTransitions(was, is, context);
}

function checkPodWrite(before: Pod, after: Pod, context: CheckContext): void {
  const what = before.metadata.uid;
  if (!isDeepStrictEqual(before.spec, after.spec)) context.fail(25, `the spec of ${what} was changed`);
  checkKept(`label of ${what}`, before.metadata.labels, after.metadata.labels, [], context);
  checkKept(`annotation of ${what}`, before.metadata.annotations, after.metadata.annotations, [], context);
  checkForeignConditions(
    what,
    before.status?.conditions ?? [],
    after.status?.conditions ?? [],
    POD_CONDITIONS,
    context,
  );
}

function noteWrittenPhase({ metadata, status }: Pod, { records }: CheckContext): void {
  const record = records.pods.get(metadata.uid);
  if (record) record.writtenPhase = status?.phase;
}

type Texts = Readonly<Record<string, string>>;

function checkKept(
  what: string,
  was: Texts = {},
  is: Texts = {},
  own: readonly string[],
  { fail }: CheckContext,
): void {
  for (const [name, value] of Object.entries(was)) {
    if (!own.includes(name) && is[name] !== value) fail(25, `the ${what} ${name} went from ${value} to ${is[name]}`);
  }
}

type Condition = NodeCondition | PodCondition;

/** Conditions of other clients stay unchanged. */
function checkForeignConditions(
  what: string,
  was: readonly Condition[],
  is: readonly Condition[],
  own: readonly string[],
  { fail }: CheckContext,
): void {
  for (const before of was.filter(({ type }) => !own.includes(type))) {
    const after = is.find(({ type }) => type === before.type);
    if (!isDeepStrictEqual(before, after)) fail(25, `the condition ${before.type} of ${what} was changed`);
  }
}

/** lastTransitionTime changes exactly when the status of a condition changes. */
function checkTransitions(was: readonly Condition[], is: readonly Condition[], context: CheckContext): void {
  const { fail, wallMs, now, jumpedAt } = context;
  for (const after of is.filter(({ type }) => NODE_CONDITIONS.includes(type))) {
    const before = was.find(({ type }) => type === after.type);
    const since = after.lastTransitionTime ?? '';
    const what = `${after.type} of the node is ${after.status} since ${since}`;
    if (before?.status === after.status) {
      if (before.lastTransitionTime !== since) fail(25, `${what}, though the status did not change`);
    } else if (now() - jumpedAt() > WRITE_MS) {
      const ageMs = wallMs() - parseTime(since);
      if (ageMs < 0 || ageMs > WRITE_MS) fail(25, `${what}, which is not the time of the change`);
    }
  }
}

function checkPodDeletion(pod: Pod, uid: string | undefined, context: CheckContext): void {
  const { fail } = context;
  if (uid === undefined) fail(27, `${pod.metadata.uid} was deleted without a UID precondition`);
  if (isMirrorPod(pod)) return checkMirrorDeletion(pod, context);
  const record = context.records.pods.get(pod.metadata.uid);
  const what = `${pod.metadata.uid} was deleted`;
  if (pod.metadata.deletionTimestamp === undefined) return fail(27, `${what} without a deletion request`);
  if (pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed') fail(27, `${what} as ${pod.status?.phase}`);
  if (record) checkFinalStatus(record, pod, context);
}

/** No container of the pod runs, and its final status was written. */
function checkFinalStatus({ uid }: PodRecord, { status }: Pod, { records, runtime, fail }: CheckContext): void {
  const running = [...runtime.containers.values()].find(
    (each) => records.podOf(each)?.uid === uid && each.state.phase === 'running',
  );
  if (running) fail(27, `${uid} was deleted while its container runs`);
  for (const { name, containerID = '', state } of status?.containerStatuses ?? []) {
    const record = records.containers.get(containerID.replace(/^.*:\/\//, ''));
    const shown = state?.terminated?.exitCode;
    if (record?.endedAt !== undefined && shown !== record.exitCode) {
      fail(27, `${uid} was deleted before exit code ${record.exitCode} of ${name} was written`);
    }
  }
}

/** A pod is deleted only after its volumes are unmounted. */
export async function checkReleased(
  write: ApiWrite,
  { fail }: CheckContext,
  mounts: Pick<Mounts, 'list'>,
): Promise<void> {
  if (write.resource !== 'pods' || write.verb !== 'delete' || !write.before || isMirrorPod(write.before)) return;
  const { uid } = write.before.metadata;
  const held = (await mounts.list()).find(({ target }) => target.includes(`/pods/${uid}/`));
  if (held) fail(27, `${uid} was deleted while ${held.target} is mounted`);
}

function checkMirrorDeletion(mirror: Pod, { records, now, fail }: CheckContext): void {
  const { annotations, deletionTimestamp } = mirror.metadata;
  if (deletionTimestamp !== undefined) return;
  const shown = [...records.pods.values()].find(({ fullName, reported, isWanted }) => {
    const isShown = reported?.pod.metadata.annotations?.[CONFIG_HASH] === annotations?.[CONFIG_MIRROR];
    const isOld = reported !== undefined && now() - reported.at > REACT_MS;
    return fullName === podFullName(mirror) && isWanted && reported?.as === 'wanted' && isShown && isOld;
  });
  if (shown) fail(27, `the mirror pod of ${shown.uid} was deleted, though it is up to date`);
}
