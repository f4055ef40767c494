import type { ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import { type CheckContext, roleOf } from './check-context.ts';
import { hasRestartedAll } from './invariants-of-restarts.ts';
import type { ContainerRecord, PodRecord } from './pod-records.ts';
import type { HookKind } from './program.ts';

/** Allowed in addition to the grace period: kubelet's two seconds, and the latency of calls. */
const LEAST_MS = 2_000;
const CALLS_MS = 5_000;
/** The container of a failed postStart hook is stopped within this time, whatever its preStop hook does. */
const STOP_MS = 70_000;
/** Concurrent operations begin within this time. */
const SIDE_BY_SIDE_MS = 1_000;

/** Records that a hook begins to run in a container. */
export function noteHook(
  record: ContainerRecord,
  kind: HookKind,
  answer: ExecAnswer,
  { now, processNumber }: CheckContext,
): void {
  if (kind !== 'postStart') return;
  const endsAt = now() + (answer.afterMs ?? 0);
  record.postStart = { processNumber: processNumber(), endsAt, fails: answer.exitCode !== 0, stops: [] };
}

/** Checks that a preStop hook runs once, unless the agent has received a change of the pod since. */
export function notePreStop(pod: PodRecord, record: ContainerRecord, { processNumber, now, fail }: CheckContext): void {
  const knownState = stateKnownToAgent(pod);
  const before = record.preStop;
  // When the stop of one container fails, all containers of the pod are stopped again.
  const mayRepeat = before !== undefined && (pod.lastStopAt ?? 0) > before.at - SIDE_BY_SIDE_MS;
  if (before?.processNumber === processNumber() && before.knownState === knownState && !mayRepeat) {
    fail(19, `the preStop hook of ${pod.uid}/${record.name} was run twice`);
  }
  record.preStop = { processNumber: processNumber(), at: now(), firstAt: before?.firstAt ?? now(), knownState };
}

/** The inputs that justify another attempt to terminate a pod. */
function stateKnownToAgent({ reported, requestedGraces }: PodRecord): string {
  return `${reported?.as} ${reported?.at} ${requestedGraces.length}`;
}

/** Records a StopContainer call. */
export function noteStop(
  pod: PodRecord | undefined,
  record: ContainerRecord,
  { now, processNumber }: CheckContext,
): void {
  if (pod) pod.lastStopAt = now();
  record.postStart?.stops.push(processNumber());
}

/** The preStop hook runs before the container is terminated. */
export function checkPreStop(pod: PodRecord, record: ContainerRecord, { processNumber, fail }: CheckContext): void {
  const spec = pod.versions.at(-1)?.spec;
  const command = spec && findContainer(spec, record.name)?.lifecycle?.preStop?.exec;
  // When all containers of a pod restart, they get no grace period and no hook.
  if (!command || roleOf(pod, record.name) === 'ephemeral' || hasRestartedAll(pod)) return;
  if (record.preStop?.processNumber !== processNumber())
    fail(19, `${pod.uid}/${record.name} was stopped without its preStop hook`);
}

/** No main container starts while the postStart hook of an earlier one runs. */
export function checkBarrier(
  pod: PodRecord,
  started: ContainerRecord,
  { processNumber, now, fail }: CheckContext,
): void {
  const mains = pod.versions.at(-1)?.spec.containers.map(({ name }) => name) ?? [];
  const before = mains.slice(0, Math.max(0, mains.indexOf(started.name)));
  const busy = pod.containers.find(
    ({ name, sandboxId, endedAt, postStart }) =>
      before.includes(name) &&
      sandboxId === started.sandboxId &&
      endedAt === undefined &&
      postStart?.processNumber === processNumber() &&
      postStart.endsAt > now(),
  );
  if (busy) fail(5, `${pod.uid}/${started.name} was started while the postStart hook of ${busy.name} still ran`);
}

/** Without faults, the termination of a pod does not exceed its grace period. */
export function checkEndInTime(pod: PodRecord, record: ContainerRecord, { now, quietAt, fail }: CheckContext): void {
  if (!pod.reported || pod.reported.as === 'wanted' || pod.reported.at < quietAt) return;
  const late = now() - pod.endsBy - LEAST_MS - CALLS_MS;
  if (late > 0) fail(8, `${pod.uid}/${record.name} ended ${late} ms too late`);
}

/** A container whose postStart hook has failed is stopped. */
export function checkFailedHooks({ records, now, processNumber, fail }: CheckContext): void {
  for (const { name, endedAt, postStart } of records.containers.values()) {
    if (
      endedAt !== undefined ||
      !postStart?.fails ||
      postStart.stops.length > 0 ||
      postStart.processNumber !== processNumber()
    )
      continue;
    if (now() - postStart.endsAt > STOP_MS) fail(19, `${name} keeps running after its postStart hook has failed`);
  }
}

/** A postStart hook ran at that time; until it ends, the pod worker is blocked. */
export function isInPostStart({ containers }: PodRecord, ms: number): boolean {
  return containers.some(({ postStart, endedAt }) => Math.min(postStart?.endsAt ?? 0, endedAt ?? Infinity) > ms);
}
