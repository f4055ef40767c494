import { mayRestartAllContainers } from '../../src/kubelet/pod/restart-rules.ts';
import { type CheckContext, initsOf, roleOf } from './check-context.ts';
import type { ContainerRecord, PodRecord } from './pod-records.ts';

/** A container has exited with the code that restarts all containers: the earlier history does not count. */
export function hasRestartedAll(pod: PodRecord): boolean {
  const spec = pod.versions.at(-1)?.spec;
  return (
    spec !== undefined &&
    mayRestartAllContainers(spec) &&
    pod.containers.some(({ exitCode }) => exitCode === RESTART_ALL_CODE)
  );
}

/** The exit code that restarts all containers of a pod. */
export const RESTART_ALL_CODE = 42;

/** The exit code does not count when the agent believes that it killed the container. */
function isCause({ exitCode, exitedBeforeStop }: ContainerRecord): boolean {
  return exitCode === RESTART_ALL_CODE && !exitedBeforeStop;
}

/** The container that caused the restart is removed last: no earlier container runs by then. */
export function checkRemovedCause(pod: PodRecord, record: ContainerRecord, { fail }: CheckContext): void {
  if (!isCause(record) || !hasRestartedAll(pod)) return;
  const isLeft = ({ name, createdAt, startedAt, endedAt }: ContainerRecord): boolean =>
    startedAt !== undefined &&
    endedAt === undefined &&
    createdAt < (record.endedAt ?? 0) &&
    roleOf(pod, name) !== 'ephemeral';
  const left = pod.containers.find(isLeft);
  if (left) fail(23, `${pod.uid}/${left.name} keeps running although all containers were restarted`);
}

/** After a restart of all containers, init containers run first again. */
export function checkInitsRestarted(pod: PodRecord, started: ContainerRecord, { fail }: CheckContext): void {
  const cause = pod.containers.findLast((each) => isCause(each) && each.removedAt !== undefined);
  if (!cause || !hasRestartedAll(pod) || roleOf(pod, started.name) !== 'main') return;
  const hasRunAgain = (name: string): boolean =>
    pod.containers.some((each) => each.name === name && each.createdAt >= (cause.removedAt ?? 0));
  const missing = initsOf(pod).find(({ name }) => !hasRunAgain(name));
  if (missing) fail(23, `${pod.uid}/${started.name} was restarted before ${missing.name}`);
}
