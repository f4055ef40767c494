import type { Pod } from '../../api/generated/core-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { unlessGone } from '../../cri/unless-gone.ts';
import type { Clock } from '../../host/clock.ts';
import type { PodEvents } from '../explain/pod-events.ts';
import type { Timeline } from '../explain/timeline.ts';
import type { ObservedContainer, ObservedPod } from '../observe/observed-pod.ts';
import { isSidecar } from '../status/restart-rules.ts';
import { allOf } from './all-of.ts';
import { containerFieldPath } from './container-field-path.ts';

/** kubelet's minimumGracePeriodInSeconds: what a container gets at least, whoever asks. */
const MINIMUM_GRACE_SECONDS = 2;

export interface StopDeps {
  readonly runtime: RuntimeService;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly clock: Clock;
}

/**
 * The order in which containers stop: groups, one after the other, each at once. Main containers go first; sidecars
 * follow, the last one first, so that whatever a container was started with is still there when it ends.
 */
export function stopOrder(pod: Pod, containers: readonly ObservedContainer[]): ObservedContainer[][] {
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const others = containers.filter(({ name }) => !sidecars.includes(name));
  const groups = sidecars.reverse().map((name) => containers.filter((container) => container.name === name));
  return [others, ...groups].filter((group) => group.length > 0);
}

/** Stops every live container of a pod within the grace period, then its sandboxes. Repeatable. */
export async function stopPod(
  pod: Pod,
  observed: ObservedPod | undefined,
  graceSeconds: number,
  deps: StopDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!observed) return;
  const endsAt = deps.clock.monotonic() + graceSeconds * 1000;
  const live = observed.containers.filter(({ state }) => state === 'running' || state === 'unknown');
  for (const group of stopOrder(pod, live)) {
    const left = Math.ceil((endsAt - deps.clock.monotonic()) / 1000);
    const stops = group.map((each) =>
      stopContainer(pod, each, `Stopping container ${each.name}`, Math.min(graceSeconds, left), deps, signal),
    );
    await allOf(stops);
  }
  const ready = observed.sandboxes.filter((sandbox) => sandbox.ready);
  await allOf(ready.map(({ id }) => stopSandbox(pod, id, deps, signal)));
}

/** Stops one container; one that is gone is fine. */
export async function stopContainer(
  pod: Pod,
  container: Pick<ObservedContainer, 'id' | 'name'>,
  message: string,
  graceSeconds: number,
  { runtime, timeline, events }: StopDeps,
  signal: AbortSignal,
): Promise<void> {
  events.record(pod, 'Normal', 'Killing', message, containerFieldPath(pod, container.name));
  const timeout = BigInt(Math.max(MINIMUM_GRACE_SECONDS, graceSeconds));
  await timeline.during(pod.metadata.uid, 'stop container', container.name, () =>
    unlessGone(runtime.stopContainer({ containerId: container.id, timeout }, signal)),
  );
}

async function stopSandbox(pod: Pod, id: string, { runtime, timeline }: StopDeps, signal: AbortSignal): Promise<void> {
  await timeline.during(pod.metadata.uid, 'stop sandbox', undefined, () =>
    unlessGone(runtime.stopPodSandbox({ podSandboxId: id }, signal)),
  );
}

/** Removes what the runtime remembers of the init containers of a stopped pod. */
export async function removeInitContainers(
  { spec }: Pod,
  observed: ObservedPod | undefined,
  { runtime }: StopDeps,
  signal: AbortSignal,
): Promise<void> {
  const names = new Set(spec.initContainers?.map(({ name }) => name));
  const ended = observed?.containers.filter(({ name }) => names.has(name)) ?? [];
  await allOf(ended.map(({ id }) => unlessGone(runtime.removeContainer({ containerId: id }, signal))));
}

/** Removes everything that the runtime remembers of a stopped pod. */
export async function removePod(
  pod: Pod,
  observed: ObservedPod | undefined,
  { runtime, timeline }: Pick<StopDeps, 'runtime' | 'timeline'>,
  signal: AbortSignal,
): Promise<void> {
  if (!observed) return;
  await timeline.during(pod.metadata.uid, 'remove', undefined, async () => {
    await allOf(observed.containers.map(({ id }) => unlessGone(runtime.removeContainer({ containerId: id }, signal))));
    for (const { id } of observed.sandboxes) await removeSandbox(id, runtime, signal);
  });
}

/** A sandbox that failed half-way is not ready and yet may hold a network; the runtime then wants it stopped first. */
async function removeSandbox(podSandboxId: string, runtime: RuntimeService, signal: AbortSignal): Promise<void> {
  try {
    await unlessGone(runtime.removePodSandbox({ podSandboxId }, signal));
  } catch {
    signal.throwIfAborted();
    await unlessGone(runtime.stopPodSandbox({ podSandboxId }, signal));
    await unlessGone(runtime.removePodSandbox({ podSandboxId }, signal));
  }
}
