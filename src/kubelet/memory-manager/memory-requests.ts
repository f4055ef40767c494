import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { qosClass } from '../../api/qos.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { hasPodLevelResources } from '../resources/container-resources.ts';

/** Bytes by kind of memory. */
export type MemoryRequests = ReadonlyMap<string, number>;

const NANO = 1_000_000_000n;

export function isMemoryType(resource: string): boolean {
  return resource === 'memory' || resource.startsWith('hugepages-');
}

/** Pods of other classes, and pods with pod-level resources, share the memory of all nodes. */
export function getsMemory(pod: Pod): boolean {
  return qosClass(pod) === 'Guaranteed' && !hasPodLevelResources(pod);
}

/** Throws kubelet's error for an amount that is not a whole number. */
export function containerMemory({ resources }: Container): MemoryRequests {
  const requests = Object.entries(resources?.requests ?? {}).filter(([name]) => isMemoryType(name));
  return new Map(
    requests
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, amount]) => {
        const { nano } = parseQuantity(amount);
        if (nano % NANO !== 0n) throw new Error('[memorymanager] failed to represent quantity as int64');
        return [name, Number(nano / NANO)];
      }),
  );
}

/** What all containers need together: sidecars run beside all that start after them, other init containers alone. */
export function podMemory({ spec }: Pod): MemoryRequests {
  const highest = new Map<string, number>();
  const sidecars = new Map<string, number>();
  for (const container of spec.initContainers ?? []) {
    for (const [name, size] of containerMemory(container)) {
      const beside = (sidecars.get(name) ?? 0) + size;
      if (container.restartPolicy === 'Always') sidecars.set(name, beside);
      else highest.set(name, Math.max(beside, highest.get(name) ?? 0));
    }
  }
  const total = new Map<string, number>();
  for (const container of spec.containers) {
    for (const [name, size] of containerMemory(container)) total.set(name, (total.get(name) ?? 0) + size);
  }
  return new Map(
    [...total].map(([name, size]) => [name, Math.max(size + (sidecars.get(name) ?? 0), highest.get(name) ?? 0)]),
  );
}
