import type { ResourceAmounts } from '../../api/pod-resources.ts';
import { Quantity } from '../../base/quantity.ts';

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
  const amounts = raised.map(([name, count]) => [name, new Quantity(BigInt(count) * NANOS, 'DecimalSI')] as const);
  return new Map([...allocatable, ...amounts]);
}

/** A `Quantity` counts billionths. */
const NANOS = 1_000_000_000n;
