import type { Container } from '../../src/api/generated/core-v1.ts';
import type { FakeContainer, FakeSandbox } from '../../src/cri/fake/records.ts';
import { isInPostStart } from './invariants-of-hooks.ts';
import { isMissingInputs, isMissingVolumes } from './invariants-of-objects.ts';
import { isEndedByNode } from './invariants-of-shutdown.ts';
import { exceedsNode } from './plan-claims.ts';
import { LATE_IMAGE, MISSING_IMAGE } from './plan-pods.ts';
import type { PodRecord } from './pod-records.ts';
import { LOG_LINKS } from './sim-logs.ts';
import type { World } from './world.ts';

/** The longest back-off, a retry of the pod worker, and some time to act. */
const LONGEST_PAUSE_MS = 300_000 + 30_000;

/** The agent may not have seen a change that is younger than this. */
const NOTICE_MS = 1_000;

/** Long after the last fault: every pod is in the state that its spec asks for. */
export function checkSettled(world: World): void {
  for (const pod of world.context.records.pods.values()) {
    const mine = { pod, ...partsOf(world, pod) };
    const latest = pod.versions.at(-1);
    if (!pod.isWanted || (latest && exceedsNode(latest))) checkAbsent(mine, world);
    else if (world.context.now() - pod.changedAt > NOTICE_MS) checkPod(mine, world);
    checkPast(mine, world);
  }
}

interface Parts {
  readonly pod: PodRecord;
  readonly sandboxes: readonly Readonly<FakeSandbox>[];
  /** Newest first. */
  readonly containers: readonly Readonly<FakeContainer>[];
}

function partsOf({ context, runtime }: World, pod: PodRecord): Omit<Parts, 'pod'> {
  const isMine = (each: Readonly<FakeContainer> | Readonly<FakeSandbox>): boolean =>
    context.records.podOf(each) === pod;
  return {
    sandboxes: [...runtime.sandboxes.values()].filter(isMine),
    containers: [...runtime.containers.values()].filter(isMine).reverse(),
  };
}

function checkAbsent({ pod, sandboxes, containers }: Parts, { context }: World): void {
  if (containers.some(isRunning)) context.fail(13, `${pod.uid} runs, though it is not wanted`);
  if (sandboxes.length + containers.length > 0 && !pod.isWanted) context.fail(13, `something of ${pod.uid} is left`);
}

function checkPod(parts: Parts, world: World): void {
  const { pod, sandboxes, containers } = parts;
  const { fail } = world.context;
  const spec = pod.versions.at(-1)?.spec;
  if (!spec) return;
  const outcomes = spec.containers.map((container) => classifyContainer(container, parts, world));
  const ready = sandboxes.filter(({ state }) => state === 'ready');
  const isLost = spec.restartPolicy === 'Never' && ready.length === 0 && containers.some(hasRun);
  const isOver =
    pod.isEvicted ||
    isEndedByNode(pod) ||
    isLost ||
    isInitOver(parts) ||
    outcomes.every((outcome) => outcome === 'done');
  const shownAsOver = pod.phase === 'Succeeded' || pod.phase === 'Failed';
  // As with kubelet, a restarted agent does nothing for a pod until its volumes are mounted.
  if (isOver && !shownAsOver && isStuck(parts, world)) return;
  if (isOver !== shownAsOver) fail(13, `${pod.uid} is shown as ${pod.phase}, though it is ${isOver ? '' : 'not '}over`);
  if (isOver && (ready.length > 0 || containers.some(isRunning))) fail(13, `${pod.uid} is over, but still up`);
  if (isOver || isStuck(parts, world)) return;
  if (ready.length !== 1) fail(13, `${pod.uid} has ${ready.length} ready sandboxes`);
  const isBlocked = isWaitingForInit(parts);
  for (const { name, image = '', targetContainerName: target } of spec.ephemeralContainers ?? []) {
    const isThere = (other: string): boolean =>
      pod.containers.some((each) => each.name === other && each.incarnation === pod.incarnation);
    const canStart = !isUnpullable(image) && (target === undefined || isThere(target));
    if (!isThere(name) && canStart) fail(13, `${pod.uid}/${name} is ephemeral, and was never started`);
  }
  for (const [index, outcome] of outcomes.entries()) {
    const name = spec.containers[index]?.name;
    if (isBlocked && outcome !== 'running') continue;
    if (outcome === 'wrong') fail(13, `${pod.uid}/${name} is not as it should be`);
  }
}

/** One that is retained, and one that has just ended. */
const FEW = 2;

function checkPast({ pod, sandboxes, containers }: Parts, { context }: World): void {
  const dead = containers.filter(({ state: phase }) => phase.phase === 'exited');
  for (const [name, all] of Map.groupBy(dead, ({ config }) => config.metadata?.name)) {
    if (all.length > FEW) context.fail(16, `${pod.uid}/${name} has ${all.length} dead containers`);
  }
  const isEmpty = ({ id }: Readonly<FakeSandbox>): boolean => !containers.some(({ sandboxId }) => sandboxId === id);
  const past = sandboxes.slice(0, -1).filter((sandbox) => sandbox.state === 'notReady' && isEmpty(sandbox));
  if (past.length > FEW) context.fail(16, `${pod.uid} has ${past.length} empty sandboxes`);
}

type ContainerOutcome = 'running' | 'waiting' | 'done' | 'wrong';

/** Classifies the newest instance of a main container. */
function classifyContainer(
  container: Container,
  { pod, containers, sandboxes }: Parts,
  { context }: World,
): ContainerOutcome {
  const { name, image = '' } = container;
  const latest = pod.versions.at(-1);
  const isMissingInput =
    isUnpullable(image) || (latest !== undefined && isMissingInputs(latest, container, context.objects));
  const newest = containers.find(({ config }) => config.metadata?.name === name);
  if (!newest) return isMissingInput ? 'waiting' : 'wrong';
  const record = context.records.containers.get(newest.id);
  switch (newest.state.phase) {
    case 'running': {
      const sandbox = sandboxes.find(({ id }) => id === newest.sandboxId);
      return sandbox?.state === 'ready' && record?.image === image ? 'running' : 'wrong';
    }
    case 'created':
      return context.now() - newestAge(record?.createdAt) < 5_000 ? 'waiting' : 'wrong';
    case 'exited': {
      const policy = pod.versions.at(-1)?.spec.restartPolicy;
      const restarts = policy === 'Always' || (policy === 'OnFailure' && newest.state.exitCode !== 0);
      if (!restarts) return 'done';
      const isInPause = context.now() - newestAge(record?.endedAt) < LONGEST_PAUSE_MS;
      return isInPause || isMissingInput ? 'waiting' : 'wrong';
    }
  }
}

/** The pod cannot make progress: a hook is running, or a volume source is missing. */
function isStuck({ pod }: Parts, { context }: World): boolean {
  const latest = pod.versions.at(-1);
  if (!latest) return false;
  return isInPostStart(pod, context.now()) || isMissingVolumes(latest, context.objects);
}

function newestAge(ms: number | undefined): number {
  return ms ?? Number.NEGATIVE_INFINITY;
}

function initRecords({ pod, sandboxes, containers }: Parts) {
  const inits = pod.versions.at(-1)?.spec.initContainers ?? [];
  const current = sandboxes.at(-1)?.id;
  return inits.map((init) => {
    const newest = containers.find(
      ({ config, sandboxId }) => config.metadata?.name === init.name && sandboxId === current,
    );
    return { init, newest };
  });
}

/** An init container has failed, and the restart policy is Never. */
function isInitOver(parts: Parts): boolean {
  if (parts.pod.versions.at(-1)?.spec.restartPolicy !== 'Never') return false;
  return initRecords(parts).some(
    ({ init, newest }) =>
      init.restartPolicy !== 'Always' && newest?.state.phase === 'exited' && newest.state.exitCode !== 0,
  );
}

/** Some init container has not completed; it may never complete. */
function isWaitingForInit(parts: Parts): boolean {
  return initRecords(parts).some(({ init, newest }) => {
    if (isUnpullable(init.image ?? '')) return true;
    if (init.restartPolicy === 'Always') return newest?.state.phase !== 'running' || init.startupProbe !== undefined;
    return newest?.state.phase !== 'exited' || newest.state.exitCode !== 0;
  });
}

function isUnpullable(image: string): boolean {
  return image === MISSING_IMAGE || image === LATE_IMAGE;
}

function hasRun({ state: phase }: Readonly<FakeContainer>): boolean {
  return phase.phase !== 'created';
}

function isRunning({ state: phase }: Readonly<FakeContainer>): boolean {
  return phase.phase === 'running';
}

/** How long a change may take to show: a pod worker may be busy with a pull or a stop. */
const SHOW_MS = 90_000;

/** Without faults the statuses match the runtime. */
export function checkShownStatuses(world: World): void {
  const { context, agentProcess } = world;
  for (const { pod, status } of agentProcess?.agent?.pods() ?? []) {
    const record = context.records.pods.get(pod.metadata.uid);
    if (!record || context.now() - record.changedAt < SHOW_MS || isInPostStart(record, context.now() - SHOW_MS))
      continue;
    const { containers } = partsOf(world, record);
    for (const shown of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
      const newest = containers.find(({ config }) => config.metadata?.name === shown.name);
      const runs = newest?.state.phase === 'running';
      const isShownSo = (shown.state?.running !== undefined) === runs;
      if (!isShownSo)
        context.fail(
          15,
          `${record.uid}/${shown.name} ${runs ? 'runs' : 'does not run'}, but its status says otherwise`,
        );
    }
  }
}

/** After every pod was deleted: no resource of any pod is left. */
export async function checkNothingLeft(world: World): Promise<void> {
  const { host, runtime, agentProcess } = world;
  const fail = (text: string): void => world.fail(14, text);
  if (runtime.containers.size > 0) fail(`${runtime.containers.size} containers are left`);
  if (runtime.sandboxes.size > 0) fail(`${runtime.sandboxes.size} sandboxes are left`);
  for (const folder of ['/var/lib/kubelet/pods', '/var/log/pods', LOG_LINKS]) {
    const entries = (await host.fs.stat(folder)) ? await host.fs.readDirectory(folder) : [];
    if (entries.length > 0) fail(`${folder} holds ${entries.map(({ name }) => name)}`);
  }
  await checkNothingAssigned(world);
  const { disks } = world.context;
  if (disks.inUse.length > 0) fail(`CSI volumes ${disks.inUse} are staged or published`);
  const mounts = (await host.mounts.list()).filter(({ target }) => target !== '/');
  if (mounts.length > 0) fail(`still mounted: ${mounts.map(({ target }) => target)}`);
  for (const parent of ['/kubepods', '/kubepods/burstable', '/kubepods/besteffort']) {
    const groups = (await host.cgroups.children(parent)).filter((name) => name.startsWith('pod'));
    if (groups.length > 0) fail(`control groups ${groups} are left`);
  }
  const atServer = await world.cluster.pods();
  if (atServer.length > 0) fail(`the API server still has ${atServer.map(({ metadata }) => metadata.name)}`);
  const pods = agentProcess?.agent?.pods() ?? [];
  if (pods.length > 0) fail(`the agent still has ${pods.map(({ pod, worker }) => `${pod.metadata.uid} (${worker})`)}`);
}

/** The checkpoints of the managers. */
const CHECKPOINTS: readonly (readonly [file: string, assigned: RegExp])[] = [
  ['cpu_manager_state', /"entries":/],
  ['memory_manager_state', /"entries":/],
  ['device-plugins/kubelet_internal_checkpoint', /"PodUID":/],
  ['dra_manager_state', /ClaimUID/],
];

/** No pod is assigned CPUs, memory or devices any more, and no claim is prepared. */
async function checkNothingAssigned({ host, context }: World): Promise<void> {
  if (!context.machine) return;
  for (const [file, assigned] of CHECKPOINTS) {
    const path = `/var/lib/kubelet/${file}`;
    const text = (await host.fs.stat(path)) ? await host.fs.readText(path) : '';
    if (assigned.test(text)) context.fail(42, `${file} still has assignments: ${text}`);
  }
  const { prepared } = context.machine.claims;
  if (prepared.size > 0) context.fail(42, `claims are still prepared: ${[...prepared]}`);
}
