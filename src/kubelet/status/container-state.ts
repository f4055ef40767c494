import type { ContainerState, ContainerStatus } from '../../api/generated/core-v1.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import type { ContainerTrouble } from './pod-status-view.ts';
import { RESTARTING_ALL } from './restart-of-all.ts';

/** Exit code of a container whose end nobody saw, as if SIGKILL had ended it. */
const UNSEEN_END_EXIT_CODE = 137;

/** The end of a container of which the runtime has lost every trace. */
export function lostState(message: string, reason = 'ContainerStatusUnknown'): ContainerState {
  return { terminated: { exitCode: UNSEEN_END_EXIT_CODE, reason, message } };
}

export const LOST_WHEN_TERMINATED = 'The container could not be located when the pod was terminated';

export function waitingState(trouble: ContainerTrouble): ContainerState {
  return { waiting: { reason: trouble.reason, ...(trouble.message !== '' && { message: trouble.message }) } };
}

/** `containerd://4260…` */
export function containerIdOf(container: ObservedContainer, runtimeName: string): string {
  return `${runtimeName}://${container.id}`;
}

/**
 * The API's state for a container as the runtime has it. `previous` is the status last shown for the name: where the
 * runtime no longer knows the state, a container that ran before has ended, and one that had ended stays so.
 */
export function stateOf(
  container: ObservedContainer,
  previous: ContainerStatus | undefined,
  { runtimeName, restartingAll }: { readonly runtimeName: string; readonly restartingAll: boolean },
): ContainerState {
  switch (container.state) {
    case 'running':
      return { running: { startedAt: timeOf(container.startedAt) } };
    case 'exited':
      return terminatedState(container, runtimeName);
    case 'unknown':
      if (previous?.state?.running) return lostState(LOST_WHEN_TERMINATED, restartingAll ? RESTARTING_ALL : undefined);
      if (previous?.state?.terminated && previous.containerID === containerIdOf(container, runtimeName)) {
        return previous.state;
      }
      return { waiting: {} };
    case 'created':
      return { waiting: {} };
  }
}

function terminatedState(
  container: Extract<ObservedContainer, { readonly state: 'exited' }>,
  runtimeName: string,
): ContainerState {
  return {
    terminated: {
      containerID: containerIdOf(container, runtimeName),
      exitCode: container.exitCode,
      startedAt: timeOf(container.startedAt),
      finishedAt: timeOf(container.finishedAt),
      ...(container.reason !== '' && { reason: container.reason }),
      ...(container.message !== '' && { message: container.message }),
    },
  };
}

/** A container that never started shows 1970 here, as with kubelet. */
function timeOf(nanoseconds: bigint): string {
  return formatTime(Number(nanoseconds / 1_000_000n));
}
