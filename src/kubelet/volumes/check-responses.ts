import type { Container } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { PodError } from '../pod/pod-error.ts';
import type { ContainerVolume } from './volume-plugin.ts';

/**
 * Checks the servers of a container's volumes before the agent or the runtime touches their files: a call to a dead server
 * occupies a thread for ever. Rejects with a `PodError` (`CreateContainerConfigError`).
 */
export async function checkResponses(
  { volumeMounts = [] }: Pick<Container, 'volumeMounts'>,
  volumes: ReadonlyMap<string, ContainerVolume>,
  signal: AbortSignal,
): Promise<void> {
  const names = new Set(volumeMounts.map(({ name }) => name));
  await Promise.all([...names].map((name) => checkVolume(name, volumes.get(name), signal)));
}

async function checkVolume(name: string, volume: ContainerVolume | undefined, signal: AbortSignal): Promise<void> {
  try {
    if (volume?.path !== undefined) await volume.checkResponse?.(signal);
  } catch (cause) {
    signal.throwIfAborted();
    const message = `volume "${name}" cannot be used: ${errorText(cause)}`;
    const podCause = { kind: 'volumeFailed', volume: name, cause: podCauseOf(cause) } as const;
    throw new PodError('CreateContainerConfigError', message, { cause, podCause, eventMessage: `Error: ${message}` });
  }
}
