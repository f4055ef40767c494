import type { ResourceAmounts } from '../../api/pod-resources.ts';
import { Quantity } from '../../base/quantity.ts';
import { type DeviceCounts, NO_DEVICES } from '../node/status/node-resources.ts';

/**
 * Raises the node's allocatable resources to the devices in use, for the admission of a pod that has some of them: it
 * goes on when its plugin is gone. kubelet's `UpdatePluginResources`. `inUse` is `undefined` for a pod without devices.
 */
export function withDevicesInUse(
  allocatable: ResourceAmounts,
  inUse: ReadonlyMap<string, number> | undefined,
): ResourceAmounts {
  const raised = [...(inUse ?? [])].filter(([name, count]) => (allocatable.get(name)?.value() ?? 0n) < BigInt(count));
  if (raised.length === 0) return allocatable;
  return withCounts(allocatable, raised);
}

/**
 * Adds the devices of plugins to the machine's own resources. A resource without healthy devices, or whose plugin is lost,
 * has an amount of zero: without one it would count as unknown, and any pod could request it.
 */
export function withPluginDevices(
  own: ResourceAmounts,
  { capacity, allocatable, removed }: DeviceCounts = NO_DEVICES,
): ResourceAmounts {
  const lost = [...removed].map((name) => [name, 0] as const);
  return withCounts(own, [...lost, ...capacity, ...allocatable]);
}

function withCounts(amounts: ResourceAmounts, counts: readonly (readonly [string, number])[]): ResourceAmounts {
  const counted = counts.map(([name, count]) => [name, new Quantity(BigInt(count) * NANOS, 'DecimalSI')] as const);
  return new Map([...amounts, ...counted]);
}

/** A `Quantity` counts billionths. */
const NANOS = 1_000_000_000n;
