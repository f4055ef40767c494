import type { Container, Pod } from '../../api/generated/core-v1.ts';
import type { ContainerStats, PodStats } from '../../api/stats-summary.ts';
import { parseQuantity, type Quantity } from '../../base/quantity.ts';
import { type PressureThreshold, type SignalReadings, thresholdAmount } from '../node/signals/pressure-signal.ts';
import { bytesQuantity, quantityOf, SIGNAL_RESOURCES, type StarvedResource } from './starved-resource.ts';

export interface EvictionText {
  readonly message: string;
  /** kubelet's annotations of the event. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The threshold that was crossed, and what was left. */
  readonly crossed?: { readonly threshold: string; readonly available: string } | undefined;
}

/** Why a pod is evicted, in kubelet's words. */
export function evictionMessage(
  resource: StarvedResource,
  pod: Pod,
  stats: PodStats | undefined,
  { due, readings }: { readonly due: readonly PressureThreshold[]; readonly readings: SignalReadings },
): EvictionText {
  const crossed = crossedThreshold(resource, due, readings);
  const start = [
    `The node was low on resource: ${resource}. `,
    crossed ? `Threshold quantity: ${crossed.threshold}, available: ${crossed.available}. ` : '',
  ].join('');
  if (!stats) return { message: start, annotations: {}, crossed };
  const ofPod = podOverRequest(resource, pod, stats);
  const over = stats.containers.flatMap((each) => containerOverRequest(resource, pod, each));
  const containers = over.map(({ name, usage, request }) => overText('Container', name, usage, request, resource));
  return {
    message: [start, ofPod?.text ?? '', ...containers].join(''),
    annotations: {
      ...ofPod?.annotations,
      offending_containers: over.map(({ name }) => name).join(','),
      offending_containers_usage: over.map(({ usage }) => usage).join(','),
      starved_resource: resource,
    },
    crossed,
  };
}

function crossedThreshold(
  resource: StarvedResource,
  due: readonly PressureThreshold[],
  readings: SignalReadings,
): EvictionText['crossed'] {
  for (const { signal, value } of due) {
    const figures = SIGNAL_RESOURCES[signal] === resource ? readings.get(signal) : undefined;
    if (!figures) continue;
    // kubelet prints a fraction of inodes in binary notation too.
    const threshold = 'quantity' in value ? value.quantity : bytesQuantity(thresholdAmount(value, figures.capacity));
    return { threshold: threshold.toString(), available: quantityOf(resource, figures.available).toString() };
  }
  return undefined;
}

function podOverRequest(
  resource: StarvedResource,
  { metadata: { name }, spec }: Pod,
  { memory }: PodStats,
): { readonly text: string; readonly annotations: Readonly<Record<string, string>> } | undefined {
  const request = resource === 'memory' ? spec.resources?.requests?.['memory'] : undefined;
  if (request === undefined || !memory) return undefined;
  const usage = bytesQuantity(memory.workingSetBytes ?? 0).toString();
  const text = overText('Pod', name, usage, parseQuantity(request).toString(), resource);
  return { text, annotations: { offending_pod: name, offending_pod_usage: usage } };
}

/** Ephemeral containers have no requests, so they are not named. */
function containerOverRequest(
  resource: StarvedResource,
  { spec }: Pod,
  stats: ContainerStats,
): { readonly name: string; readonly usage: string; readonly request: string }[] {
  const all: readonly Container[] = [...spec.containers, ...(spec.initContainers ?? [])];
  const container = all.find(({ name }) => name === stats.name);
  const usage = container && containerUsage(resource, stats);
  if (!container || !usage) return [];
  const request = parseQuantity(container.resources?.requests?.[resource] ?? '0');
  if (usage.compare(request) <= 0) return [];
  return [{ name: container.name, usage: usage.toString(), request: request.toString() }];
}

function containerUsage(resource: StarvedResource, { memory, rootfs, logs }: ContainerStats): Quantity | undefined {
  if (resource === 'memory') {
    return memory?.workingSetBytes === undefined ? undefined : bytesQuantity(memory.workingSetBytes);
  }
  if (resource !== 'ephemeral-storage' || rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) {
    return undefined;
  }
  return bytesQuantity(rootfs.usedBytes + logs.usedBytes);
}

function overText(kind: 'Pod' | 'Container', name: string, usage: string, request: string, resource: string): string {
  return `${kind} ${name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;
}
