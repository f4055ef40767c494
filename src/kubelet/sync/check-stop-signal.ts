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
 * Tells of a container that will be stopped with another signal than it asked for: a runtime from before there were
 * stop signals takes no notice of them, and shows it only by not telling one back.
 */
export async function checkStopSignal(
  pod: Pod,
  name: string,
  containerId: string,
  { runtime, events, settings }: StopSignalDeps,
  signal: AbortSignal,
): Promise<void> {
  const container = findContainer(pod.spec, name);
  const asked = container && stopSignalName(stopSignalOf(container, settings));
  if (asked === undefined) return;
  // A runtime that cannot be asked now is not told of: the container runs all the same.
  const answer = await runtime.containerStatus({ containerId, verbose: false }, signal).catch(() => undefined);
  if (!answer?.status || stopSignalName(answer.status.stopSignal) !== undefined) return;
  const message =
    `Container ${name} asks to be stopped with ${asked}. The runtime does not support that: it will use the signal of ` +
    'the image, or SIGTERM.';
  events.record(pod, 'Warning', 'StopSignalIgnored', message, containerFieldPath(pod, name));
}
