import { byCodePoint } from '../../base/code-point-order.ts';
import { ContainerAllocateResponse } from '../../plugins/generated/deviceplugin-v1beta1.ts';
import type { CheckpointEntry, DevicesByNuma } from './checkpoint.ts';

/** In the checkpoint: a device without a NUMA node. */
export const NO_NUMA_NODE = -1;

/** Devices of one resource that a container has. */
export interface AssignedDevices {
  readonly devices: DevicesByNuma;
  readonly response: ContainerAllocateResponse;
}

type ByResource = Map<string, AssignedDevices>;
type ByContainer = Map<string, ByResource>;

/** The devices that containers have: what the checkpoint keeps. */
export class PodDevices {
  readonly #pods = new Map<string, ByContainer>();

  get uids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** By resource, in the order of names. */
  ofContainer(uid: string, container: string): ReadonlyMap<string, AssignedDevices> {
    const byResource = this.#pods.get(uid)?.get(container) ?? new Map<string, AssignedDevices>();
    return new Map([...byResource].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** `undefined`: nothing was assigned. */
  ids(uid: string, container: string, resource: string): ReadonlySet<string> | undefined {
    const assigned = this.#pods.get(uid)?.get(container)?.get(resource);
    return assigned && idsOf(assigned);
  }

  /** All ids of the resource, of every pod or of one. */
  allIds(resource: string, uid?: string): ReadonlySet<string> {
    const pods = uid === undefined ? [...this.#pods.values()] : [this.#pods.get(uid) ?? (new Map() as ByContainer)];
    const assigned = pods.flatMap((byContainer) => [...byContainer.values()].map((each) => each.get(resource)));
    return new Set(assigned.flatMap((each) => (each ? [...idsOf(each)] : [])));
  }

  /** The resources that any container has. */
  get resources(): ReadonlySet<string> {
    const containers = [...this.#pods.values()].flatMap((byContainer) => [...byContainer.values()]);
    return new Set(containers.flatMap((byResource) => [...byResource.keys()]));
  }

  /** The pods that have any of the devices. */
  podsWith(resource: string, ids: ReadonlySet<string>): readonly string[] {
    return this.uids.filter((uid) => !this.allIds(resource, uid).isDisjointFrom(ids));
  }

  set(uid: string, container: string, resource: string, assigned: AssignedDevices): void {
    const byContainer = this.#pods.get(uid) ?? new Map<string, ByResource>();
    const byResource = byContainer.get(container) ?? new Map<string, AssignedDevices>();
    this.#pods.set(uid, byContainer.set(container, byResource.set(resource, assigned)));
  }

  /** Returns whether the pod had any. */
  delete(uid: string): boolean {
    return this.#pods.delete(uid);
  }

  /** Replaces everything. An entry whose response cannot be decoded is left out, as kubelet does; its error is returned. */
  restore(
    entries: readonly CheckpointEntry[],
  ): readonly { readonly entry: CheckpointEntry; readonly error: unknown }[] {
    this.#pods.clear();
    return entries.flatMap((entry) => {
      const { podUid, containerName, resourceName, devices } = entry;
      try {
        const response = ContainerAllocateResponse.decode(entry.response);
        this.set(podUid, containerName, resourceName, { devices, response });
        return [];
      } catch (error) {
        return [{ entry, error }];
      }
    });
  }

  entries(): readonly CheckpointEntry[] {
    return [...this.#pods].flatMap(([podUid, byContainer]) =>
      [...byContainer].flatMap(([containerName, byResource]) =>
        [...byResource].map(([resourceName, { devices, response }]) => ({
          podUid,
          containerName,
          resourceName,
          devices,
          response: ContainerAllocateResponse.encode(response).finish(),
        })),
      ),
    );
  }
}

/** In the order of ids. */
export function idsOf({ devices }: Pick<AssignedDevices, 'devices'>): ReadonlySet<string> {
  return new Set([...devices.values()].flat().toSorted(byCodePoint));
}

/** By each NUMA node of the device; kubelet's `DevicesPerNUMA`. */
export function byNumaNode(ids: Iterable<string>, numaNodesOf: (id: string) => readonly number[]): DevicesByNuma {
  const byNode = new Map<number, string[]>();
  for (const id of ids) {
    const nodes = numaNodesOf(id);
    for (const node of nodes.length > 0 ? nodes : [NO_NUMA_NODE]) byNode.set(node, [...(byNode.get(node) ?? []), id]);
  }
  return byNode;
}
