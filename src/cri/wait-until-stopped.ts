import type { Clock } from '../host/clock.ts';
import { isNotFound } from './cri-error.ts';
import { ContainerState, PodSandboxState } from './generated/runtime-v1.ts';
import type { RuntimeService } from './services.ts';

export interface WaitUntilStoppedDeps {
  readonly runtime: Pick<RuntimeService, 'containerStatus' | 'podSandboxStatus'>;
  readonly clock: Clock;
}

const POD_UID_LABEL = 'io.kubernetes.pod.uid';

/** A container that ends at once has ended before CRI shows even its start: created is not stopped. */
const NOT_STOPPED_STATES: ReadonlySet<ContainerState> = new Set([
  ContainerState.CONTAINER_CREATED,
  ContainerState.CONTAINER_RUNNING,
]);

/** Between looks: usually CRI is a few milliseconds behind, on a machine that is worn out it may be many seconds. */
const FIRST_DELAY_MS = 1;
const MAX_DELAY_MS = 1_024;

/** Resolves when CRI shows that a container or sandbox has stopped, or knows it no more; with the pod's UID if it says. */
export async function waitUntilStopped(
  id: string,
  { runtime, clock }: WaitUntilStoppedDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let ms = FIRST_DELAY_MS; ; ms = Math.min(ms * 2, MAX_DELAY_MS)) {
    const seen = await readState(id, runtime, signal);
    if (!seen.runs) return seen.podUid;
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
    return { runs: status !== undefined && NOT_STOPPED_STATES.has(status.state), podUid: status?.labels[POD_UID_LABEL] };
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
