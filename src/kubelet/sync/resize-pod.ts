import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';
import { UpdateContainerResourcesRequest } from '../../cri/generated/runtime-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { findContainer } from '../pod/find-container.ts';
import { currentSandbox, newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import {
  containerResources,
  overheadResources,
  type ResourceSettings,
  sandboxResources,
} from '../resources/container-resources.ts';
import type { HostFacts } from '../resources/host-facts.ts';
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
  readonly cgroups: Pick<PodCgroups, 'settle'>;
}

/** Why the pod could not be given all that it was promised; told already. */
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
    deps.resizes.failed(pod, message);
    return new Error(`cannot resize the pod: ${message}`, { cause: error });
  }
}

/**
 * The control group of the pod has grown when it was prepared, so that its containers may grow in it; it shrinks when
 * they have shrunk.
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
    const linux = containerResources(pod, container, deps.settings, deps.hostFacts);
    const request = UpdateContainerResourcesRequest.fromPartial({ containerId, linux });
    await deps.runtime.updateContainerResources(request, signal);
    await deps.records.actuate(pod, container);
  }
  await deps.cgroups.settle(pod);
  await deps.records.actuatePod(pod);
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

/** Who is given less memory than it uses would be killed. What it uses the moment after nobody knows. */
async function checkMemoryUsage(
  pod: Pod,
  updates: readonly ContainerUpdate[],
  observed: ObservedPod | undefined,
  { runtime, records }: ResizeDeps,
  signal: AbortSignal,
): Promise<void> {
  const troubles: string[] = [];
  const before = actualPod(pod, records.actuated(pod.metadata.uid));
  const sandbox = currentSandbox(observed);
  const limitOfPod = memoryLimit(pod.spec.resources);
  if (sandbox && isLess(limitOfPod, memoryLimit(before.spec.resources))) {
    const { stats } = await runtime.podSandboxStats({ podSandboxId: sandbox.id }, signal);
    troubles.push(...memoryUsageErrors('pod memory', limitOfPod, stats?.linux?.memory?.usageBytes?.value));
  }
  for (const { container, containerId } of updates) {
    const limit = memoryLimit(actuationOf(pod, container));
    const old = findContainer(before.spec, container.name) ?? container;
    if (!isLess(limit, memoryLimit(actuationOf(before, old)))) continue;
    const { stats } = await runtime.containerStats({ containerId }, signal);
    troubles.push(...memoryUsageErrors(`container "${container.name}" memory`, limit, stats?.memory?.usageBytes?.value));
  }
  if (troubles.length > 0) throw new Error(`cannot decrease memory limits: ${formatErrors(troubles)}`);
}

/** Zero is no limit. */
function isLess(limit: bigint, before: bigint): boolean {
  return limit !== 0n && (before === 0n || limit < before);
}

function memoryUsageErrors(what: string, limit: bigint, used: bigint | undefined): string[] {
  if (used === undefined) return [`missing ${what} usage`];
  return used >= limit ? [`attempting to set ${what} limit (${limit}) below current usage (${used})`] : [];
}

function formatErrors(troubles: readonly string[]): string {
  return troubles.length === 1 ? troubles.join('') : `[${troubles.join(', ')}]`;
}

/** For those who listen to the runtime; a runtime for which that is nothing may say so. */
async function updateSandboxResources(
  pod: Pod,
  observed: ObservedPod | undefined,
  { runtime, settings, hostFacts }: ResizeDeps,
  signal: AbortSignal,
): Promise<void> {
  const sandbox = currentSandbox(observed);
  if (!sandbox) return;
  const overhead = overheadResources(pod, settings, hostFacts);
  const resources = sandboxResources(pod, settings, hostFacts);
  try {
    await runtime.updatePodSandboxResources({ podSandboxId: sandbox.id, overhead, resources }, signal);
  } catch (error) {
    if (!(error instanceof CriError) || !isUnimplemented(error)) throw error;
  }
}

/** containerd 2.2 says it in other words. */
function isUnimplemented({ code, message }: CriError): boolean {
  return code === 'Unimplemented' || (code === 'Unknown' && message.includes('not implemented'));
}

function memoryLimit({ limits }: ResourceRequirements = {}): bigint {
  const limit = limits?.['memory'];
  return limit === undefined ? 0n : parseQuantity(limit).value();
}
