import type { Container, ContainerStatus } from '../../src/api/generated/core-v1.ts';
import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import { type CheckContext, roleOf } from './check-context.ts';
import { isInPostStart } from './invariants-of-hooks.ts';
import { isMissingVolumes } from './invariants-of-objects.ts';
import type { ContainerRecord, PodRecord } from './pod-records.ts';
import { type Program, passesProbe, programOf } from './program.ts';
import type { World } from './world.ts';

/** The time after which every probe has noticed a change and the agent has acted on it. */
const NOTICE_MS = 200_000;

/** Without faults, unhealthy containers do not keep running, and the ready state is shown correctly. */
export function checkHealth(world: World): void {
  const { context, agentProcess } = world;
  if (context.now() - context.agentStartedAt() < NOTICE_MS) return;
  for (const {
    pod: { metadata },
    status,
  } of agentProcess?.agent?.pods() ?? []) {
    const pod = context.records.pods.get(metadata.uid);
    if (!pod?.isWanted || isInPostStart(pod, context.now() - NOTICE_MS)) continue;
    // As with kubelet, a restarted agent does nothing for a pod until its volumes are mounted.
    const latest = pod.versions.at(-1);
    if (!latest || isMissingVolumes(latest, context.objects)) continue;
    const shown = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const each of shown) if (roleOf(pod, each.name) !== 'init') checkContainer(pod, each, context);
  }
}

function checkContainer(pod: PodRecord, shown: ContainerStatus, { now, agentStartedAt, fail }: CheckContext): void {
  const spec = pod.versions.at(-1)?.spec;
  const container = spec && findContainer(spec, shown.name);
  const record = pod.containers.findLast(({ name }) => name === shown.name);
  if (!container || !isRunning(record)) return;
  const ageMs = now() - record.startedAt;
  const program = programOf(container.args);
  const what = `${pod.uid}/${shown.name}`;
  const isUnhealthy = container.livenessProbe && ageMs - NOTICE_MS > (program.unhealthyAfterMs ?? Infinity);
  if (isUnhealthy) return fail(22, `${what} is unhealthy, but keeps running`);
  if (!isStable(program, ageMs) || (container.livenessProbe && !passesProbe(program, 'liveness', ageMs))) return;
  // A restarted agent runs the startup probe again.
  const isAskedAgain = container.startupProbe && record.startedAt < agentStartedAt();
  if (isAskedAgain && !passesProbe(program, 'startup', ageMs)) return;
  const isReady = isReadyBy(container, program, ageMs);
  if (shown.ready !== isReady) fail(22, `${what} is ${isReady ? '' : 'not '}ready, but its status says otherwise`);
}

function isRunning(record: ContainerRecord | undefined): record is ContainerRecord & { readonly startedAt: number } {
  return record?.startedAt !== undefined && record.endedAt === undefined;
}

/** The health of the container has not changed recently. */
function isStable(
  { startupAfterMs = 0, readyAfterMs = 0, unhealthyAfterMs = Infinity }: Program,
  ageMs: number,
): boolean {
  const changes = [0, startupAfterMs, readyAfterMs, unhealthyAfterMs];
  return changes.every((at) => ageMs < at || ageMs > at + NOTICE_MS);
}

function isReadyBy({ startupProbe, readinessProbe }: Container, program: Program, ageMs: number): boolean {
  // A startup probe does not run again once it has succeeded.
  const hasStarted = !startupProbe || ageMs >= (program.startupAfterMs ?? 0);
  return hasStarted && (!readinessProbe || passesProbe(program, 'readiness', ageMs));
}
