import type { Pod } from '../../api/generated/core-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { PodEvents } from '../events/pod-events.ts';

/** Reads the state of a pod from the runtime, before a sync decides anything. Records the event of an error. */
export async function readPodState<T>(
  pod: Pod,
  read: () => Promise<T>,
  events: Pick<PodEvents, 'record'>,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    events.record(pod, 'Warning', 'FailedSync', `error determining status: ${goErrorText(error)}`);
    throw error;
  }
}
