import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { CriError } from '../../cri/cri-error.ts';
import { UpdateContainerResourcesRequest } from '../../cri/generated/runtime-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { findContainer } from '../pod/find-container.ts';
import { currentSandbox, newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import {
  containerResources,
  type HasExclusiveCpus,
  overheadResources,
  type ResourceSettings,
  sandboxResources,
} from '../resources/container-resources.ts';
import type { HostFacts } from '../resources/host-facts.ts';
import { resizedMemoryQos } from '../resources/memory-qos.ts';
import { actualPod, actuationOf } from '../resources/pod-allocation.ts';
import type { PodCgroups } from '../resources/pod-cgroups.ts';
import type { PodResizes } from '../resources/pod-resizes.ts';
import type { ResourceRecords } from '../resources/resource-records.ts';
import type { PodResize } from './pod-plan.ts';

export interface ResizeDeps {
  readonly runtime: RuntimeService;
  readonly settings: ResourceSettings;
  readonly hostFacts: HostFacts;
  readonly records: ResourceRecords;
  readonly resizes: PodResizes;
  readonly cgroups: Pick<PodCgroups, 'applyAllocated'>;
  readonly hasExclusiveCpus?: HasExclusiveCpus | undefined;
}

/** Resizes the pod. Returns the error, which is already recorded as an event and condition. */
export async function tryResize(
  pod: Pod,
  resize: PodResize,
  observed: ObservedPod | undefined,
  deps: ResizeDeps,
  signal: AbortSignal,
): Promise<Error | undefined> {
  try {
    await resizePod(pod, resize, observed, deps, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof CriError ? goErrorText(error) : errorText(error);
    deps.resizes.onResizeFailed(pod, message);
    return new Error(`cannot resize the pod: ${message}`, { cause: error });
  }
}

/**
 * The pod's cgroup is enlarged when the steps are prepared, so that its containers can grow. It shrinks after its
 * containers have shrunk.
 */
async function resizePod(
  pod: Pod,
  { update }: PodResize,
  observed: ObservedPod | undefined,
  deps: ResizeDeps,
  signal: AbortSignal,
): Promise<void> {
  const updates = update.flatMap((name) => containerUpdate(pod, name, observed));
  await checkMemoryUsage(pod, updates, observed, deps, signal);
  await updateSandboxResources(pod, observed, deps, signal);
  for (const { container, containerId } of updates) {
    const hasExclusiveCpus = deps.hasExclusiveCpus?.(pod, container);
    const wanted = containerResources(pod, container, deps.settings, deps.hostFacts, { hasExclusiveCpus });
    const linux = { ...wanted, unified: resizedMemoryQos(wanted.unified) };
    const request = UpdateContainerResourcesRequest.fromPartial({ containerId, linux });
    await deps.runtime.updateContainerResources(request, signal);
    await deps.records.recordActuated(pod, container);
  }
  await deps.cgroups.applyAllocated(pod);
  await deps.records.recordPodActuated(pod);
}

interface ContainerUpdate {
  readonly container: Container;
  readonly containerId: string;
}

function containerUpdate(pod: Pod, name: string, observed: ObservedPod | undefined): ContainerUpdate[] {
  const container = findContainer(pod.spec, name);
  const seen = newestContainer(observed, name);
  return container && seen ? [{ container, containerId: seen.id }] : [];
}

/**
 * Throws when a memory limit would fall below the current usage, which would kill the container. Best effort: usage may
 * grow.
 */
async function checkMemoryUsage(
  pod: Pod,
  updates: readonly ContainerUpdate[],
  observed: ObservedPod | undefined,
  { runtime, records }: ResizeDeps,
  signal: AbortSignal,
): Promise<void> {
  const errors: string[] = [];
  const before = actualPod(pod, records.actuated(pod.metadata.uid));
  const sandbox = currentSandbox(observed);
  const podLimit = memoryLimit(pod.spec.resources);
  if (sandbox && isLess(podLimit, memoryLimit(before.spec.resources))) {
    const { stats } = await runtime.podSandboxStats({ podSandboxId: sandbox.id }, signal);
    errors.push(...memoryUsageErrors('pod memory', podLimit, stats?.linux?.memory?.usageBytes?.value));
  }
  for (const { container, containerId } of updates) {
    const limit = memoryLimit(actuationOf(pod, container));
    const old = findContainer(before.spec, container.name) ?? container;
    if (!isLess(limit, memoryLimit(actuationOf(before, old)))) continue;
    const { stats } = await runtime.containerStats({ containerId }, signal);
    errors.push(...memoryUsageErrors(`container "${container.name}" memory`, limit, stats?.memory?.usageBytes?.value));
  }
  if (errors.length > 0) throw new Error(`cannot decrease memory limits: ${formatErrors(errors)}`);
}

/** Zero means unlimited. */
function isLess(limit: bigint, before: bigint): boolean {
  return limit !== 0n && (before === 0n || limit < before);
}

function memoryUsageErrors(what: string, limit: bigint, used: bigint | undefined): string[] {
  if (used === undefined) return [`missing ${what} usage`];
  return used >= limit ? [`attempting to set ${what} limit (${limit}) below current usage (${used})`] : [];
}

/** Formats errors as Go prints an aggregate. */
function formatErrors(errors: readonly string[]): string {
  return errors.length === 1 ? errors.join('') : `[${errors.join(', ')}]`;
}

/** Reports the new resources of the sandbox to the runtime and its NRI plugins. `Unimplemented` is ignored. */
async function updateSandboxResources(
  pod: Pod,
  observed: ObservedPod | undefined,
  { runtime, settings, hostFacts, hasExclusiveCpus }: ResizeDeps,
  signal: AbortSignal,
): Promise<void> {
  const sandbox = currentSandbox(observed);
  if (!sandbox) return;
  const overhead = overheadResources(pod, settings, hostFacts);
  const resources = sandboxResources(pod, settings, hostFacts, { hasExclusiveCpus: hasExclusiveCpus?.(pod) });
  try {
    await runtime.updatePodSandboxResources({ podSandboxId: sandbox.id, overhead, resources }, signal);
  } catch (error) {
    if (!(error instanceof CriError) || !isUnimplemented(error)) throw error;
  }
}

/** containerd 2.2 answers `Unknown` with a message. */
function isUnimplemented({ code, message }: CriError): boolean {
  return code === 'Unimplemented' || (code === 'Unknown' && message.includes('not implemented'));
}

function memoryLimit({ limits }: ResourceRequirements = {}): bigint {
  const limit = limits?.['memory'];
  return limit === undefined ? 0n : parseQuantity(limit).value();
}
