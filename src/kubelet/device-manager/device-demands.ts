import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { amountsOf } from '../../api/pod-resources.ts';
import type { DeviceIds } from './choose-devices.ts';

/**
 * The number of devices that a container needs, by resource in the order of names. Limits and requests of extended
 * resources are equal. Resources that DRA supplies are left out.
 */
export function containerDemands(
  pod: Pod,
  container: Container,
  isDeviceResource: (name: string) => boolean,
): ReadonlyMap<string, number> {
  const limits = [...amountsOf(container.resources?.limits)].filter(([name]) => isDeviceResource(name));
  const own = limits.filter(([name]) => !isFromClaim(pod, container.name, name));
  return new Map(own.map(([name, amount]) => [name, Number(amount.value())] as const).toSorted(byName));
}

function isFromClaim({ status }: Pod, containerName: string, resourceName: string): boolean {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return mappings.some((each) => each.containerName === containerName && each.resourceName === resourceName);
}

function byName([one]: readonly [string, number], [other]: readonly [string, number]): number {
  return one < other ? -1 : 1;
}

/** In the order in which they get devices. */
export function containersInOrder({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/**
 * The devices of init containers that have ended when this container starts. Containers that run beside others, and init
 * containers that restart, keep theirs.
 */
export function reusableDevices(
  pod: Pod,
  container: Container,
  idsOf: (containerName: string) => DeviceIds,
): DeviceIds {
  const inits = pod.spec.initContainers ?? [];
  const ends = new Set(inits.filter(({ restartPolicy }) => restartPolicy !== 'Always').map(({ name }) => name));
  const order = containersInOrder(pod);
  const before = order.slice(
    0,
    order.findIndex(({ name }) => name === container.name),
  );
  return before.reduce<DeviceIds>(
    (reusable, { name }) => (ends.has(name) ? reusable.union(idsOf(name)) : reusable.difference(idsOf(name))),
    new Set(),
  );
}
