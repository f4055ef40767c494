import { mayRestartAllContainers } from '../../src/kubelet/pod/restart-rules.ts';
import { initsOf, roleOf, type Scene } from './scene.ts';
import type { ContainerRecord, PodRecord } from './truth.ts';

/** Some container has ended in a way for which all of the pod begin anew: what went before does not bind them. */
export function hasRestartedAll(pod: PodRecord): boolean {
  const spec = pod.versions.at(-1)?.spec;
  return (
    spec !== undefined && mayRestartAllContainers(spec) && pod.containers.some(({ exitCode }) => exitCode === RESTART_ALL_CODE)
  );
}

/** The code with which containers of a plan ask for it. */
export const RESTART_ALL_CODE = 42;

/** Not one that was killed, as far as the agent knows: then its exit code does not count. */
function isCause({ exitCode, stopCameLate }: ContainerRecord): boolean {
  return exitCode === RESTART_ALL_CODE && !stopCameLate;
}

/** The one that caused it goes last: by then nothing of before runs any more. */
export function checkRemovedCause(pod: PodRecord, record: ContainerRecord, { fail }: Scene): void {
  if (!isCause(record) || !hasRestartedAll(pod)) return;
  const isLeft = ({ name, createdAt, startedAt, endedAt }: ContainerRecord): boolean =>
    startedAt !== undefined &&
    endedAt === undefined &&
    createdAt < (record.endedAt ?? 0) &&
    roleOf(pod, name) !== 'ephemeral';
  const left = pod.containers.find(isLeft);
  if (left) fail(23, `${pod.uid}/${left.name} runs on though all began anew`);
}

/** After that init containers come first again. */
export function checkBeginsAnew(pod: PodRecord, started: ContainerRecord, { fail }: Scene): void {
  const cause = pod.containers.findLast((each) => isCause(each) && each.removedAt !== undefined);
  if (!cause || !hasRestartedAll(pod) || roleOf(pod, started.name) !== 'main') return;
  const hasRunAgain = (name: string): boolean =>
    pod.containers.some((each) => each.name === name && each.createdAt >= (cause.removedAt ?? 0));
  const missing = initsOf(pod).find(({ name }) => !hasRunAgain(name));
  if (missing) fail(23, `${pod.uid}/${started.name} began anew before ${missing.name} did`);
}
