import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from '../../api/generated/core-v1.ts';
import { newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import { restartsAllAfter } from '../pod/restart-rules.ts';

/** The reason of containers that were removed because all containers of their pod restart. */
export const RESTARTING_ALL = 'RestartingAllContainers';

/** The condition of a restart of all containers. */
export const RESTARTING_ALL_CONDITION = 'AllContainersRestarting';

/** Whether a status has the condition of a running restart of all containers. */
export function isRestartingAll(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(isRestarting) ?? false;
}

function isRestarting({ type, status }: { readonly type: string; readonly status: string }): boolean {
  return type === RESTARTING_ALL_CONDITION && status === 'True';
}

/** Whether all containers of a pod must restart: the status says so, or a rule of an exited container does. */
export function mustRestartAll(
  { spec }: Pod,
  observed: ObservedPod | undefined,
  previous: PodStatus | undefined,
): boolean {
  if (isRestartingAll(previous)) return true;
  const shown = [...(previous?.initContainerStatuses ?? []), ...(previous?.containerStatuses ?? [])];
  return restartedContainers(spec).some((container) => {
    const seen = newestContainer(observed, container.name);
    if (seen?.state !== 'exited') return false;
    return [seen.exitCode, ...shownExits(shown, container.name)].some((code) => restartsAllAfter(container, code));
  });
}

function shownExits(shown: readonly ContainerStatus[], name: string): number[] {
  return shown.flatMap((status) => (status.name === name ? (status.state?.terminated?.exitCode ?? []) : []));
}

/** All containers but the ephemeral ones. */
function restartedContainers({ initContainers = [], containers }: PodSpec): readonly Container[] {
  return [...initContainers, ...containers];
}

/** Whether all containers that restart have been removed. */
export function areAllRemoved({ spec }: Pod, observed: ObservedPod | undefined): boolean {
  return !restartedContainers(spec).some(({ name }) => newestContainer(observed, name));
}
