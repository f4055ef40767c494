import type { Pod } from '../../api/generated/core-v1.ts';
import { ignoreNotFound } from '../../cri/ignore-not-found.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Timeline } from '../events/timeline.ts';
import { type RemovalDeps, removeDeadContainer, removeLogLink } from '../gc/remove-dead-container.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import { waitForAll } from './wait-for-all.ts';

/** Removes the init containers of a stopped pod with their logs and termination messages. */
export async function removeInitContainers(
  pod: Pod,
  observed: ObservedPod | undefined,
  deps: RemovalDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!observed) return;
  await waitForAll(initContainers(pod, observed).map((each) => removeDeadContainer(observed, each, deps, signal)));
}

/** Keeps only the newest exited instance of each init container: every repetition adds one. */
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
  // Errors are ignored: the next start retries.
  await Promise.allSettled(older.map((each) => removeDeadContainer(observed, each, deps, signal)));
  signal.throwIfAborted();
}

/** Newest first for each name. */
function initContainers({ spec }: Pod, { containers }: ObservedPod): ObservedContainer[] {
  const names = new Set(spec.initContainers?.map(({ name }) => name));
  return containers.filter(({ name }) => names.has(name));
}

/** Succeeds when the container is gone. */
export async function removeContainer(
  containerId: string,
  runtime: RuntimeService,
  signal: AbortSignal,
): Promise<void> {
  await ignoreNotFound(runtime.removeContainer({ containerId }, signal));
}

/** Removes all containers and sandboxes of a stopped pod, and first the log links, whose names need the container. */
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

/** A sandbox whose creation failed may be not ready and still hold a network: the runtime requires a stop first. */
async function removeSandbox(podSandboxId: string, runtime: RuntimeService, signal: AbortSignal): Promise<void> {
  try {
    await ignoreNotFound(runtime.removePodSandbox({ podSandboxId }, signal));
  } catch {
    signal.throwIfAborted();
    await ignoreNotFound(runtime.stopPodSandbox({ podSandboxId }, signal));
    await ignoreNotFound(runtime.removePodSandbox({ podSandboxId }, signal));
  }
}
