import type { Clock } from '../host/clock.ts';
import { isNotFound } from './cri-error.ts';
import { ContainerState, PodSandboxState } from './generated/runtime-v1.ts';
import type { RuntimeService } from './services.ts';

export interface WaitUntilStoppedDeps {
  readonly runtime: Pick<RuntimeService, 'containerStatus' | 'podSandboxStatus'>;
  readonly clock: Clock;
}

const POD_UID_LABEL = 'io.kubernetes.pod.uid';

/** A container that exits at once may still be reported as created: CRI lags behind the event. */
const NOT_STOPPED_STATES: ReadonlySet<ContainerState> = new Set([
  ContainerState.CONTAINER_CREATED,
  ContainerState.CONTAINER_RUNNING,
]);

/** Delays between polls: CRI usually lags by a few milliseconds, on an overloaded machine by many seconds. */
const FIRST_DELAY_MS = 1;
const MAX_DELAY_MS = 1_024;

/** Resolves when CRI reports that a container or sandbox has stopped or is gone; with the pod's UID if known. */
export async function waitUntilStopped(
  id: string,
  { runtime, clock }: WaitUntilStoppedDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let ms = FIRST_DELAY_MS; ; ms = Math.min(ms * 2, MAX_DELAY_MS)) {
    const state = await readState(id, runtime, signal);
    if (!state.runs) return state.podUid;
    await clock.sleep(ms, signal);
  }
}

async function readState(
  id: string,
  runtime: WaitUntilStoppedDeps['runtime'],
  signal: AbortSignal,
): Promise<{ readonly runs: boolean; readonly podUid?: string | undefined }> {
  try {
    const { status } = await runtime.containerStatus({ containerId: id, verbose: false }, signal);
    return {
      runs: status !== undefined && NOT_STOPPED_STATES.has(status.state),
      podUid: status?.labels[POD_UID_LABEL],
    };
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  try {
    const { status } = await runtime.podSandboxStatus({ podSandboxId: id, verbose: false }, signal);
    return { runs: status?.state === PodSandboxState.SANDBOX_READY, podUid: status?.metadata?.uid };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return { runs: false };
  }
}
