import type { Pod } from '../../api/generated/core-v1.ts';
import { type ObservedPod, runningContainers } from '../pod/observed-pod.ts';
import type { PodStep } from '../pod/pod-step.ts';

/**
 * Whether a resource is gone from under the running containers of a pod. Init and ephemeral containers do not count, as in
 * kubelet.
 */
export async function hasLostResource(
  pod: Pod,
  seen: ObservedPod | undefined,
  steps: readonly PodStep[],
): Promise<boolean> {
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  if (!runningContainers(seen).some(({ name }) => names.has(name))) return false;
  const lost = await Promise.all(steps.map((step) => step.isLost?.(pod) ?? false));
  return lost.includes(true);
}
