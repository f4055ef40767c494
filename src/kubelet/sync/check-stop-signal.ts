import type { Pod } from '../../api/generated/core-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import { findContainer } from '../pod/find-container.ts';
import { type StopSignalSettings, stopSignalName, stopSignalOf } from './config/stop-signal.ts';

export interface StopSignalDeps {
  readonly runtime: Pick<RuntimeService, 'containerStatus'>;
  readonly events: PodEvents;
  readonly settings: StopSignalSettings;
}

/**
 * Records an event when the runtime ignored the container's stop signal. Old runtimes ignore the field, which shows
 * only in the missing `stopSignal` of the container status.
 */
export async function checkStopSignal(
  pod: Pod,
  name: string,
  containerId: string,
  { runtime, events, settings }: StopSignalDeps,
  signal: AbortSignal,
): Promise<void> {
  const container = findContainer(pod.spec, name);
  const requested = container && stopSignalName(stopSignalOf(container, settings));
  if (requested === undefined) return;
  // An error is ignored: the container runs.
  const answer = await runtime.containerStatus({ containerId, verbose: false }, signal).catch(() => undefined);
  if (!answer?.status || stopSignalName(answer.status.stopSignal) !== undefined) return;
  const message =
    `Container ${name} asks to be stopped with ${requested}. The runtime does not support that: it will use the ` +
    'signal of the image, or SIGTERM.';
  events.record(pod, 'Warning', 'StopSignalIgnored', message, containerFieldPath(pod, name));
}
