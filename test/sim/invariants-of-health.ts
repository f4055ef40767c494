import type { Container, ContainerStatus } from '../../src/api/generated/core-v1.ts';
import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import { isHooked } from './invariants-of-hooks.ts';
import { lacksVolumes } from './invariants-of-objects.ts';
import { isWell, type Program, programOf } from './program.ts';
import { roleOf, type Scene } from './scene.ts';
import type { ContainerRecord, PodRecord } from './truth.ts';
import type { World } from './world.ts';

/** After which every probe has found out that something is another now, and all has been done about it. */
const NOTICE_MS = 200_000;

/** In calm times containers that are sick do not run on, and who is shown as ready is ready. */
export function checkHealth(world: World): void {
  const { scene, life } = world;
  if (scene.now() - scene.bornAt() < NOTICE_MS) return;
  for (const {
    pod: { metadata },
    status,
  } of life?.agent?.pods() ?? []) {
    const pod = scene.truth.pods.get(metadata.uid);
    if (!pod?.isWanted || isHooked(pod, scene.now() - NOTICE_MS)) continue;
    // As with kubelet, an agent that has started anew does nothing for a pod before its volumes are there.
    const latest = pod.versions.at(-1);
    if (!latest || lacksVolumes(latest, scene.objects)) continue;
    const shown = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const each of shown) if (roleOf(pod, each.name) !== 'init') checkContainer(pod, each, scene);
  }
}

function checkContainer(pod: PodRecord, shown: ContainerStatus, { now, bornAt, fail }: Scene): void {
  const spec = pod.versions.at(-1)?.spec;
  const container = spec && findContainer(spec, shown.name);
  const record = pod.containers.findLast(({ name }) => name === shown.name);
  if (!container || !isRunning(record)) return;
  const ageMs = now() - record.startedAt;
  const program = programOf(container.args);
  const what = `${pod.uid}/${shown.name}`;
  const isSick = container.livenessProbe && ageMs - NOTICE_MS > (program.sickAfterMs ?? Infinity);
  if (isSick) return fail(22, `${what} is sick, and runs on`);
  if (!isStable(program, ageMs) || (container.livenessProbe && !isWell(program, 'liveness', ageMs))) return;
  // A new agent asks the startup probe once more.
  const isAskedAgain = container.startupProbe && record.startedAt < bornAt();
  if (isAskedAgain && !isWell(program, 'startup', ageMs)) return;
  const isReady = isReadyBy(container, program, ageMs);
  if (shown.ready !== isReady) fail(22, `${what} is ${isReady ? '' : 'not '}ready, and is shown otherwise`);
}

function isRunning(record: ContainerRecord | undefined): record is ContainerRecord & { readonly startedAt: number } {
  return record?.startedAt !== undefined && record.endedAt === undefined;
}

/** Nothing about its health has changed for a while, nor is just about to. */
function isStable({ startupAfterMs = 0, readyAfterMs = 0, sickAfterMs = Infinity }: Program, ageMs: number): boolean {
  const changes = [0, startupAfterMs, readyAfterMs, sickAfterMs];
  return changes.every((at) => ageMs < at || ageMs > at + NOTICE_MS);
}

function isReadyBy({ startupProbe, readinessProbe }: Container, program: Program, ageMs: number): boolean {
  // A startup probe is not asked any more once it has succeeded.
  const hasStarted = !startupProbe || ageMs >= (program.startupAfterMs ?? 0);
  return hasStarted && (!readinessProbe || isWell(program, 'readiness', ageMs));
}
