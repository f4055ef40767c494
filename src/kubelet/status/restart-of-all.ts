import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from '../../api/generated/core-v1.ts';
import { newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import { restartsAllAfter } from '../pod/restart-rules.ts';

/** The reason of containers that were removed because all of their pod begin anew. */
export const RESTARTING_ALL = 'RestartingAllContainers';

/** The condition that says how far such a new beginning is. */
export const RESTARTING_ALL_CONDITION = 'AllContainersRestarting';

/** Whether a status says that all containers are about to be removed, to begin anew. */
export function isRestartingAll(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(isRestarting) ?? false;
}

function isRestarting({ type, status }: { readonly type: string; readonly status: string }): boolean {
  return type === RESTARTING_ALL_CONDITION && status === 'True';
}

/** Whether all containers of a pod are to begin anew: that was said before, or one has ended in such a way. */
export function restartsAll(
  { spec }: Pod,
  observed: ObservedPod | undefined,
  previous: PodStatus | undefined,
): boolean {
  if (isRestartingAll(previous)) return true;
  const shown = [...(previous?.initContainerStatuses ?? []), ...(previous?.containerStatuses ?? [])];
  return concerned(spec).some((container) => {
    const seen = newestContainer(observed, container.name);
    if (seen?.state !== 'exited') return false;
    return [seen.exitCode, ...shownExits(shown, container.name)].some((code) => restartsAllAfter(container, code));
  });
}

function shownExits(shown: readonly ContainerStatus[], name: string): number[] {
  return shown.flatMap((status) => (status.name === name ? (status.state?.terminated?.exitCode ?? []) : []));
}

/** Ephemeral containers stay as they are. */
function concerned({ initContainers = [], containers }: PodSpec): readonly Container[] {
  return [...initContainers, ...containers];
}

/** Whether nothing is left that would have to go first. */
export function isCleared({ spec }: Pod, observed: ObservedPod | undefined): boolean {
  return !concerned(spec).some(({ name }) => newestContainer(observed, name));
}
