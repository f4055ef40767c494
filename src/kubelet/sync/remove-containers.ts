import type { Pod } from '../../api/generated/core-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { ignoreNotFound } from '../../cri/ignore-not-found.ts';
import type { Timeline } from '../events/timeline.ts';
import { type RemovalDeps, removeDeadContainer, removeLogLink } from '../gc/remove-dead-container.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import { waitForAll } from './wait-for-all.ts';

/** Removes every trace of the init containers of a stopped pod, also what they said. */
export async function removeInitContainers(
  pod: Pod,
  observed: ObservedPod | undefined,
  deps: RemovalDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!observed) return;
  await waitForAll(initContainers(pod, observed).map((each) => removeDeadContainer(observed, each, deps, signal)));
}

/** Of each init container the runtime remembers only how it last ended; the rest would grow with every repetition. */
export async function pruneInitContainers(
  pod: Pod,
  observed: ObservedPod | undefined,
  deps: RemovalDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!observed) return;
  const ended = initContainers(pod, observed).filter(({ state }) => state === 'exited' || state === 'unknown');
  const newest = new Set(new Map(ended.toReversed().map((each) => [each.name, each])).values());
  const older = ended.filter((each) => !newest.has(each));
  // The next start tries again.
  await Promise.allSettled(older.map((each) => removeDeadContainer(observed, each, deps, signal)));
  signal.throwIfAborted();
}

/** Newest first under each name. */
function initContainers({ spec }: Pod, { containers }: ObservedPod): ObservedContainer[] {
  const names = new Set(spec.initContainers?.map(({ name }) => name));
  return containers.filter(({ name }) => names.has(name));
}

/** One that is gone is fine. */
export async function removeContainer(
  containerId: string,
  runtime: RuntimeService,
  signal: AbortSignal,
): Promise<void> {
  await ignoreNotFound(runtime.removeContainer({ containerId }, signal));
}

/** Removes everything that the runtime remembers of a stopped pod; first the links to logs that are known by it. */
export async function removePod(
  pod: Pod,
  observed: ObservedPod | undefined,
  deps: RemovalDeps & { readonly timeline: Timeline },
  signal: AbortSignal,
): Promise<void> {
  if (!observed) return;
  const { runtime, timeline } = deps;
  const remove = async (container: ObservedContainer): Promise<void> => {
    await removeLogLink(observed, container, deps);
    await removeContainer(container.id, runtime, signal);
  };
  await timeline.during(pod.metadata.uid, 'remove', undefined, async () => {
    await waitForAll(observed.containers.map(remove));
    for (const { id } of observed.sandboxes) await removeSandbox(id, runtime, signal);
  });
}

/** A sandbox that failed half-way is not ready and yet may hold a network; the runtime then wants it stopped first. */
async function removeSandbox(podSandboxId: string, runtime: RuntimeService, signal: AbortSignal): Promise<void> {
  try {
    await ignoreNotFound(runtime.removePodSandbox({ podSandboxId }, signal));
  } catch {
    signal.throwIfAborted();
    await ignoreNotFound(runtime.stopPodSandbox({ podSandboxId }, signal));
    await ignoreNotFound(runtime.removePodSandbox({ podSandboxId }, signal));
  }
}
