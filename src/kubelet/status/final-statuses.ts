import type { ContainerStatus, Pod } from '../../api/generated/core-v1.ts';
import { isSidecar } from '../pod/restart-rules.ts';
import { LOST_WHEN_TERMINATED, lostState } from './container-state.ts';
import type { ContainerStatuses } from './container-statuses.ts';

/** The final statuses of a terminated pod: containers without an observed exit have failed. */
export function finalStatuses(pod: Pod, statuses: ContainerStatuses): ContainerStatuses {
  const begun = Math.max(1, 1 + statuses.init.findLastIndex(hasBegun));
  return {
    ...statuses,
    init: statuses.init.map((status, index) => (index < begun ? ended(status) : status)),
    regular: wasInitialized(pod, statuses) ? statuses.regular.map(ended) : statuses.regular,
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated ? status : { ...status, state: lostState(LOST_WHEN_TERMINATED) };
}

function hasBegun({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting === undefined || lastState?.terminated !== undefined;
}

/** Whether the regular containers could start: one of them ran, or the last init container succeeded. */
function wasInitialized(pod: Pod, { init, regular }: ContainerStatuses): boolean {
  const last = pod.spec.initContainers?.at(-1);
  if (last === undefined || regular.some(hasBegun)) return true;
  const shown = init.at(-1);
  if (isSidecar(last)) return shown?.state?.running !== undefined && shown.started === true;
  return shown?.state?.terminated?.exitCode === 0 || shown?.lastState?.terminated?.exitCode === 0;
}
