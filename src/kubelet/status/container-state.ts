import type { ContainerState, ContainerStatus } from '../../api/generated/core-v1.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import type { ContainerStartError } from './pod-status-view.ts';
import { RESTARTING_ALL } from './restart-all-containers.ts';

/** Exit code of a container whose exit was not observed: that of SIGKILL. */
const UNSEEN_END_EXIT_CODE = 137;

/** The terminated state of a container that the runtime has no record of. */
export function lostState(message: string, reason = 'ContainerStatusUnknown'): ContainerState {
  return { terminated: { exitCode: UNSEEN_END_EXIT_CODE, reason, message } };
}

export const LOST_WHEN_TERMINATED = 'The container could not be located when the pod was terminated';

export function waitingState({ reason, message }: ContainerStartError): ContainerState {
  return { waiting: { reason, ...(message !== '' && { message }) } };
}

/** `containerd://4260…` */
export function containerIdUri(container: ObservedContainer, runtimeName: string): string {
  return `${runtimeName}://${container.id}`;
}

/**
 * The API state of an observed container. `previous` is the last published status of the name: where the runtime does not
 * know the state, a container that ran before has ended, and one that had ended keeps its state.
 */
export function containerState(
  container: ObservedContainer,
  previous: ContainerStatus | undefined,
  { runtimeName, restartingAll }: { readonly runtimeName: string; readonly restartingAll: boolean },
): ContainerState {
  switch (container.state) {
    case 'running':
      return { running: { startedAt: formatNanoseconds(container.startedAt) } };
    case 'exited':
      return terminatedState(container, runtimeName);
    case 'unknown':
      if (previous?.state?.running) return lostState(LOST_WHEN_TERMINATED, restartingAll ? RESTARTING_ALL : undefined);
      if (previous?.state?.terminated && previous.containerID === containerIdUri(container, runtimeName)) {
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
      containerID: containerIdUri(container, runtimeName),
      exitCode: container.exitCode,
      startedAt: formatNanoseconds(container.startedAt),
      finishedAt: formatNanoseconds(container.finishedAt),
      ...(container.reason !== '' && { reason: container.reason }),
      ...(container.message !== '' && { message: container.message }),
    },
  };
}

/** A container that never started shows 1970, as in kubelet. */
function formatNanoseconds(nanoseconds: bigint): string {
  return formatTime(Number(nanoseconds / 1_000_000n));
}
