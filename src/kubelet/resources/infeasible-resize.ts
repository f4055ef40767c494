import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { qosClass } from '../../api/qos.ts';
import type { HostFacts } from './host-facts.ts';
import { isSameResources } from './pod-allocation.ts';
import { type SwapSettings, swapLimit } from './swap-limit.ts';

export interface ResizeSettings extends SwapSettings {
  /** The managers that assign resources exclusively (policy `static` or `Static`); absent: none. */
  readonly staticManagers?: { readonly cpu: boolean; readonly memory: boolean } | undefined;
}

/** kubelet's message for a resize that can never be granted on this node; `undefined`: it may be. */
export function infeasibleResize(
  pod: Pod,
  allocated: Pod,
  settings: ResizeSettings,
  hostFacts: HostFacts,
): string | undefined {
  if (changesSwap(pod, allocated, settings, hostFacts)) {
    return 'In-place resize of containers with swap is not supported.';
  }
  if (qosClass(pod) !== 'Guaranteed') return undefined;
  const { cpu = false, memory = false } = settings.staticManagers ?? {};
  const infeasible = 'Resize is infeasible for Guaranteed Pods alongside';
  if (cpu && changesRequest(pod, allocated, 'cpu')) return `${infeasible} CPU Manager policy "static"`;
  if (memory && changesRequest(pod, allocated, 'memory')) return `${infeasible} Memory Manager policy "Static"`;
  return undefined;
}

/** The runtime cannot change the swap limit of a running container. */
function changesSwap(pod: Pod, allocated: Pod, settings: SwapSettings, hostFacts: HostFacts): boolean {
  return pairsOf(pod, allocated).some(([container, old]) => {
    if (isSameRequest(container, old, 'memory') || restartsForMemory(old)) return false;
    return swapLimit(pod, container, settings, hostFacts) + swapLimit(allocated, old, settings, hostFacts) > 0;
  });
}

function changesRequest(pod: Pod, allocated: Pod, resource: string): boolean {
  return pairsOf(pod, allocated).some(([container, old]) => !isSameRequest(container, old, resource));
}

/** Each container with itself before the resize. */
function pairsOf(pod: Pod, allocated: Pod): readonly (readonly [Container, Container])[] {
  const before = new Map(containersOf(allocated).map((container) => [container.name, container]));
  return containersOf(pod).flatMap((container) => {
    const old = before.get(container.name);
    return old ? [[container, old] as const] : [];
  });
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function isSameRequest(container: Container, old: Container, resource: string): boolean {
  return isSameResources(requestOf(container, resource), requestOf(old, resource));
}

function requestOf({ resources }: Container, resource: string) {
  const amount = resources?.requests?.[resource];
  return amount === undefined ? {} : { requests: { [resource]: amount } };
}

function restartsForMemory({ resizePolicy = [] }: Container): boolean {
  const policy = resizePolicy.find(({ resourceName }) => resourceName === 'memory');
  return policy?.restartPolicy === 'RestartContainer';
}
