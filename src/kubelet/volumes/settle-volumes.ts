import type { Volume } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { PodError } from '../pod/pod-error.ts';
import { mountTimedOut, notMounted } from './mount-errors.ts';
import { VolumeResolutionError } from './volume-spec.ts';

export interface Outcomes<Done> {
  readonly done: ReadonlyMap<string, Done>;
  readonly errors: readonly PodError[];
  /** Names of the volumes that failed, in kubelet's order. */
  readonly unmounted: readonly string[];
  /** Those of them that waited until they are attached. */
  readonly unattached: readonly string[];
}

/** Works on all volumes at once, so that a volume that waits for its objects does not delay the others. */
export async function settleVolumes<T extends Pick<Volume, 'name'>, Done>(
  volumes: readonly T[],
  work: (volume: T) => Promise<Done>,
  signal: AbortSignal,
  deadline?: AbortSignal,
): Promise<Outcomes<Done>> {
  const outcomes = await Promise.allSettled(volumes.map(work));
  signal.throwIfAborted();
  const done = new Map<string, Done>();
  const failed: { readonly name: string; readonly reason: unknown }[] = [];
  for (const [index, { name }] of volumes.entries()) {
    const outcome = outcomes[index];
    if (outcome?.status === 'fulfilled') done.set(name, outcome.value);
    else failed.push({ name, reason: outcome?.reason });
  }
  failed.sort((a, b) => byCodePoint(a.name, b.name));
  const unmounted = failed.map(({ name }) => name);
  const unattached = failed.filter(({ reason }) => isUnattached(reason)).map(({ name }) => name);
  const errors = failed.map(({ name, reason }) =>
    deadline?.aborted && !(reason instanceof PodError || reason instanceof VolumeResolutionError)
      ? mountTimedOut(name, { unmounted, unattached }, reason)
      : asPodError(name, reason, unmounted),
  );
  return { done, errors, unmounted, unattached };
}

function isUnattached(reason: unknown): boolean {
  return podCauseOf(reason)?.kind === 'volumeNotAttached';
}

/** An error before the plugin was called is one of kubelet's wait for all volumes of the pod. */
export function asPodError(name: string, error: unknown, unmounted: readonly string[] = [name]): PodError {
  return error instanceof PodError ? error : notMounted(name, unmounted, error);
}
