import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { actuationOf, type PodResources } from './pod-allocation.ts';

/** How a running container gets the allocated resources. */
export type ContainerResize = 'update' | 'restart';

/** What is left to do until a pod runs with its allocation. */
export interface ResizePlan {
  /**
   * Containers whose actuated resources differ from the allocation, by name. A container that does not run gets them at
   * its start.
   */
  readonly containers: ReadonlyMap<string, ContainerResize>;
  /** The pod-level resources differ. */
  readonly pod: boolean;
}

const NO_RESIZE: ResizePlan = { containers: new Map(), pod: false };

/** `pod` has its allocation. Containers without a record count as up to date. */
export function planResize(pod: Pod, actuated: PodResources | undefined): ResizePlan {
  if (!actuated) return NO_RESIZE;
  const { initContainers = [], containers, resources } = pod.spec;
  const resizes = [...initContainers, ...containers].flatMap((container) => {
    const resize = containerResize(pod, container, actuated);
    return resize ? [[container.name, resize] as const] : [];
  });
  return { containers: new Map(resizes), pod: !isSame(resizableAmounts(resources), resizableAmounts(actuated.pod)) };
}

function containerResize(pod: Pod, container: Container, actuated: PodResources): ContainerResize | undefined {
  const given = actuated.containers.get(container.name);
  if (!given) return undefined;
  const before = { spec: { ...pod.spec, resources: actuated.pod } };
  const has = resizableAmounts(actuationOf({ ...pod, ...before }, { ...container, resources: given }));
  const wants = resizableAmounts(actuationOf(pod, container));
  if (isSame(has, wants)) return undefined;
  const changed = [...(has.cpu === wants.cpu ? [] : ['cpu']), ...(has.memory === wants.memory ? [] : ['memory'])];
  const restarts = (container.resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) => changed.includes(resourceName) && restartPolicy === 'RestartContainer',
  );
  return restarts ? 'restart' : 'update';
}

/** Requests and limits of the resizable resources. */
interface Amounts {
  readonly cpu: string;
  readonly memory: string;
}

function resizableAmounts({ requests, limits }: ResourceRequirements = {}): Amounts {
  return {
    cpu: `${milli(requests?.['cpu'])} ${milli(limits?.['cpu'])}`,
    memory: `${bytes(requests?.['memory'])} ${bytes(limits?.['memory'])}`,
  };
}

function isSame(one: Amounts, other: Amounts): boolean {
  return one.cpu === other.cpu && one.memory === other.memory;
}

function milli(quantity: string | number | undefined): bigint {
  return quantity === undefined ? 0n : parseQuantity(quantity).milliValue();
}

function bytes(quantity: string | number | undefined): bigint {
  return quantity === undefined ? 0n : parseQuantity(quantity).value();
}
