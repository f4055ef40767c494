import type { ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import { findContainer } from '../../src/kubelet/pod/find-container.ts';
import { hasRestartedAll } from './invariants-of-restarts.ts';
import type { HookKind } from './program.ts';
import { roleOf, type Scene } from './scene.ts';
import type { ContainerRecord, PodRecord } from './truth.ts';

/** What a pod's end may take besides its grace period: kubelet's two seconds, and calls that take a while. */
const LEAST_MS = 2_000;
const CALLS_MS = 5_000;
/** After a hook that failed its container is stopped by then, whatever its preStop hook does. */
const STOP_MS = 70_000;
/** What is done side by side begins within so long. */
const SIDE_BY_SIDE_MS = 1_000;

/** A hook begins to run in a container. */
export function noteHook(record: ContainerRecord, kind: HookKind, answer: ExecAnswer, { now, life }: Scene): void {
  if (kind !== 'postStart') return;
  const endsAt = now() + (answer.afterMs ?? 0);
  record.postStart = { life: life(), endsAt, fails: answer.exitCode !== 0, stopAsked: false };
}

/** The agent asks for a preStop hook to be run: once, unless something is new to it since the last time. */
export function notePreStop(pod: PodRecord, record: ContainerRecord, { life, now, fail }: Scene): void {
  const news = newsOf(pod);
  const before = record.preStop;
  // When the stop of one container fails, all of its pod are asked once more to end.
  const mayRepeat = before !== undefined && (pod.stopAskedAt ?? 0) > before.at - SIDE_BY_SIDE_MS;
  if (before?.life === life() && before.news === news && !mayRepeat) {
    fail(19, `the preStop hook of ${pod.uid}/${record.name} was run twice`);
  }
  record.preStop = { life: life(), at: now(), firstAt: before?.firstAt ?? now(), news };
}

/** What may lead to another attempt to end a pod. */
function newsOf({ told, asked }: PodRecord): string {
  return `${told?.as} ${told?.at} ${asked.length}`;
}

/** The agent asks for the container to be stopped. */
export function noteStop(pod: PodRecord | undefined, record: ContainerRecord, { now }: Scene): void {
  if (pod) pod.stopAskedAt = now();
  if (record.postStart) record.postStart.stopAsked = true;
}

/** A container is asked to end: its preStop hook comes before. */
export function checkPreStop(pod: PodRecord, record: ContainerRecord, { life, fail }: Scene): void {
  const spec = pod.versions.at(-1)?.spec;
  const command = spec && findContainer(spec, record.name)?.lifecycle?.preStop?.exec;
  // When all containers of a pod begin anew they get no time, and no hook.
  if (!command || roleOf(pod, record.name) === 'ephemeral' || hasRestartedAll(pod)) return;
  if (record.preStop?.life !== life()) fail(19, `${pod.uid}/${record.name} was stopped without its preStop hook`);
}

/** No main container starts while a postStart hook of one before it still runs. */
export function checkBarrier(pod: PodRecord, started: ContainerRecord, { life, now, fail }: Scene): void {
  const mains = pod.versions.at(-1)?.spec.containers.map(({ name }) => name) ?? [];
  const before = mains.slice(0, Math.max(0, mains.indexOf(started.name)));
  const busy = pod.containers.find(
    ({ name, sandboxId, endedAt, postStart }) =>
      before.includes(name) &&
      sandboxId === started.sandboxId &&
      endedAt === undefined &&
      postStart?.life === life() &&
      postStart.endsAt > now(),
  );
  if (busy) fail(5, `${pod.uid}/${started.name} was started while the postStart hook of ${busy.name} still ran`);
}

/** In calm times the end of a pod takes no longer than it may. */
export function checkEndInTime(pod: PodRecord, record: ContainerRecord, { now, quietAt, fail }: Scene): void {
  if (!pod.told || pod.told.as === 'wanted' || pod.told.at < quietAt) return;
  const late = now() - pod.endsBy - LEAST_MS - CALLS_MS;
  if (late > 0) fail(8, `${pod.uid}/${record.name} has ended ${late} ms too late`);
}

/** A container whose postStart hook has failed does not run on. */
export function checkFailedHooks({ truth, now, life, fail }: Scene): void {
  for (const { name, endedAt, postStart } of truth.containers.values()) {
    if (endedAt !== undefined || !postStart?.fails || postStart.stopAsked || postStart.life !== life()) continue;
    if (now() - postStart.endsAt > STOP_MS) fail(19, `${name} runs on though its postStart hook has failed`);
  }
}

/** A postStart hook still ran at that time: as long nothing else is done for the pod. */
export function isHooked({ containers }: PodRecord, ms: number): boolean {
  return containers.some(({ postStart, endedAt }) => Math.min(postStart?.endsAt ?? 0, endedAt ?? Infinity) > ms);
}
