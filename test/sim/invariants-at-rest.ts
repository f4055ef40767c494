import type { Container } from '../../src/api/generated/core-v1.ts';
import type { FakeContainer, FakeSandbox } from '../../src/cri/fake/records.ts';
import { isHooked } from './invariants-of-hooks.ts';
import { lacksInputs, lacksVolumes } from './invariants-of-objects.ts';
import { isBeyondNode } from './plan-claims.ts';
import { LATE_IMAGE, MISSING_IMAGE } from './plan-pods.ts';
import type { PodRecord } from './truth.ts';
import type { World } from './world.ts';

/** The longest back-off, a retry of the worker, and some time to act. */
const LONGEST_PAUSE_MS = 300_000 + 30_000;

/** What happened just now the agent may not have heard of. */
const NOTICE_MS = 1_000;

/** Long after the last fault: every pod is as its description says. */
export function checkSettled(world: World): void {
  for (const pod of world.scene.truth.pods.values()) {
    const mine = { pod, ...partsOf(world, pod) };
    const latest = pod.versions.at(-1);
    if (!pod.isWanted || (latest && isBeyondNode(latest))) checkAbsent(mine, world);
    else if (world.scene.now() - pod.changedAt > NOTICE_MS) checkPod(mine, world);
    checkPast(mine, world);
  }
}

interface Parts {
  readonly pod: PodRecord;
  readonly sandboxes: readonly Readonly<FakeSandbox>[];
  /** Newest first. */
  readonly containers: readonly Readonly<FakeContainer>[];
}

function partsOf({ scene, runtime }: World, pod: PodRecord): Omit<Parts, 'pod'> {
  const isMine = (each: Readonly<FakeContainer> | Readonly<FakeSandbox>): boolean => scene.truth.podOf(each) === pod;
  return {
    sandboxes: [...runtime.sandboxes.values()].filter(isMine),
    containers: [...runtime.containers.values()].filter(isMine).reverse(),
  };
}

function checkAbsent({ pod, sandboxes, containers }: Parts, { scene }: World): void {
  if (containers.some(isRunning)) scene.fail(13, `${pod.uid} runs, though nobody wants it`);
  if (sandboxes.length + containers.length > 0 && !pod.isWanted) scene.fail(13, `something of ${pod.uid} is left`);
}

function checkPod(parts: Parts, world: World): void {
  const { pod, sandboxes, containers } = parts;
  const { fail } = world.scene;
  const spec = pod.versions.at(-1)?.spec;
  if (!spec) return;
  const verdicts = spec.containers.map((container) => judge(container, parts, world));
  const ready = sandboxes.filter(({ state }) => state === 'ready');
  const isLost = spec.restartPolicy === 'Never' && ready.length === 0 && containers.some(hasRun);
  const isOver = isLost || isInitOver(parts) || verdicts.every((verdict) => verdict === 'done');
  const shownAsOver = pod.phase === 'Succeeded' || pod.phase === 'Failed';
  // As with kubelet, an agent that has started anew does nothing for a pod before its volumes are there.
  if (isOver && !shownAsOver && isStuck(parts, world)) return;
  if (isOver !== shownAsOver) fail(13, `${pod.uid} is shown as ${pod.phase}, though it is ${isOver ? '' : 'not '}over`);
  if (isOver && (ready.length > 0 || containers.some(isRunning))) fail(13, `${pod.uid} is over and yet up`);
  if (isOver || isStuck(parts, world)) return;
  if (ready.length !== 1) fail(13, `${pod.uid} has ${ready.length} ready sandboxes`);
  const isBlocked = isWaitingForInit(parts);
  for (const { name, image = '', targetContainerName: target } of spec.ephemeralContainers ?? []) {
    const isThere = (other: string): boolean =>
      pod.containers.some((each) => each.name === other && each.incarnation === pod.incarnation);
    const canStart = !isUnpullable(image) && (target === undefined || isThere(target));
    if (!isThere(name) && canStart) fail(13, `${pod.uid}/${name} is ephemeral, and was never started`);
  }
  for (const [index, verdict] of verdicts.entries()) {
    const name = spec.containers[index]?.name;
    if (isBlocked && verdict !== 'running') continue;
    if (verdict === 'wrong') fail(13, `${pod.uid}/${name} is not as it should be`);
  }
}

/** One that stays, and one that has ended or was left just now. */
const FEW = 2;

function checkPast({ pod, sandboxes, containers }: Parts, { scene }: World): void {
  const dead = containers.filter(({ state: phase }) => phase.phase === 'exited');
  for (const [name, all] of Map.groupBy(dead, ({ config }) => config.metadata?.name)) {
    if (all.length > FEW) scene.fail(16, `${pod.uid}/${name} has ${all.length} dead containers`);
  }
  const isEmpty = ({ id }: Readonly<FakeSandbox>): boolean => !containers.some(({ sandboxId }) => sandboxId === id);
  const past = sandboxes.slice(0, -1).filter((sandbox) => sandbox.state === 'notReady' && isEmpty(sandbox));
  if (past.length > FEW) scene.fail(16, `${pod.uid} has ${past.length} empty sandboxes`);
}

type Verdict = 'running' | 'waiting' | 'done' | 'wrong';

/** What became of one main container. */
function judge(container: Container, { pod, containers, sandboxes }: Parts, { scene }: World): Verdict {
  const { name, image = '' } = container;
  const latest = pod.versions.at(-1);
  const lacks = isUnpullable(image) || (latest !== undefined && lacksInputs(latest, container, scene.objects));
  const newest = containers.find(({ config }) => config.metadata?.name === name);
  if (!newest) return lacks ? 'waiting' : 'wrong';
  const record = scene.truth.containers.get(newest.id);
  switch (newest.state.phase) {
    case 'running': {
      const sandbox = sandboxes.find(({ id }) => id === newest.sandboxId);
      return sandbox?.state === 'ready' && record?.image === image ? 'running' : 'wrong';
    }
    case 'created':
      return scene.now() - newestAge(record?.createdAt) < 5_000 ? 'waiting' : 'wrong';
    case 'exited': {
      const policy = pod.versions.at(-1)?.spec.restartPolicy;
      const restarts = policy === 'Always' || (policy === 'OnFailure' && newest.state.exitCode !== 0);
      if (!restarts) return 'done';
      const isInPause = scene.now() - newestAge(record?.endedAt) < LONGEST_PAUSE_MS;
      return isInPause || lacks ? 'waiting' : 'wrong';
    }
  }
}

/** Nothing moves on: a hook does not end, or what all containers need is not there. */
function isStuck({ pod }: Parts, { scene }: World): boolean {
  const latest = pod.versions.at(-1);
  if (!latest) return false;
  return isHooked(pod, scene.now()) || lacksVolumes(latest, scene.objects);
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

/** An init container has failed, and the pod never restarts anything. */
function isInitOver(parts: Parts): boolean {
  if (parts.pod.versions.at(-1)?.spec.restartPolicy !== 'Never') return false;
  return initRecords(parts).some(
    ({ init, newest }) =>
      init.restartPolicy !== 'Always' && newest?.state.phase === 'exited' && newest.state.exitCode !== 0,
  );
}

/** Some init container is not through; that it never will be is its own affair. */
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

/** So long a change may take to show: as long as a worker may be busy with a pull or a stop. */
const SHOW_MS = 90_000;

/** In calm times what the agent shows is what is so. */
export function checkShown(world: World): void {
  const { scene, life } = world;
  for (const { pod, status } of life?.agent?.pods() ?? []) {
    const record = scene.truth.pods.get(pod.metadata.uid);
    if (!record || scene.now() - record.changedAt < SHOW_MS || isHooked(record, scene.now() - SHOW_MS)) continue;
    const { containers } = partsOf(world, record);
    for (const shown of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
      const newest = containers.find(({ config }) => config.metadata?.name === shown.name);
      const runs = newest?.state.phase === 'running';
      const isShownSo = (shown.state?.running !== undefined) === runs;
      if (!isShownSo)
        scene.fail(15, `${record.uid}/${shown.name} ${runs ? 'runs' : 'does not run'}, and is shown otherwise`);
    }
  }
}

/** After every pod was deleted: not a trace of any. */
export async function checkNothingLeft(world: World): Promise<void> {
  const { host, runtime, life } = world;
  const fail = (text: string): void => world.fail(14, text);
  if (runtime.containers.size > 0) fail(`${runtime.containers.size} containers are left`);
  if (runtime.sandboxes.size > 0) fail(`${runtime.sandboxes.size} sandboxes are left`);
  for (const folder of ['/var/lib/kubelet/pods', '/var/log/pods']) {
    const entries = (await host.fs.stat(folder)) ? await host.fs.readDirectory(folder) : [];
    if (entries.length > 0) fail(`${folder} holds ${entries.map(({ name }) => name)}`);
  }
  const mounts = (await host.mounts.list()).filter(({ target }) => target !== '/');
  if (mounts.length > 0) fail(`mounted are ${mounts.map(({ target }) => target)}`);
  for (const parent of ['/kubepods', '/kubepods/burstable', '/kubepods/besteffort']) {
    const groups = (await host.cgroups.children(parent)).filter((name) => name.startsWith('pod'));
    if (groups.length > 0) fail(`control groups ${groups} are left`);
  }
  const atServer = await world.cluster.pods();
  if (atServer.length > 0) fail(`the API server still has ${atServer.map(({ metadata }) => metadata.name)}`);
  const pods = life?.agent?.pods() ?? [];
  if (pods.length > 0) fail(`the agent still has ${pods.map(({ pod, worker }) => `${pod.metadata.uid} (${worker})`)}`);
}
