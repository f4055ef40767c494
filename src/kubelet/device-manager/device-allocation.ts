import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { goErrorText } from '../../plugins/plugin-error.ts';
import type { NumaMask } from '../topology/numa-mask.ts';
import {
  chooseDevices,
  completeChoice,
  type DeviceChoice,
  type DeviceDemand,
  type DeviceIds,
} from './choose-devices.ts';
import { containerDemands, containersInOrder, reusableDevices } from './device-demands.ts';
import type { DeviceInventory } from './device-inventory.ts';
import { DeviceReservations } from './device-reservations.ts';
import { byNumaNode, type PodDevices } from './pod-devices.ts';

const NO_IDS: DeviceIds = new Set();

export interface DeviceAllocationDeps {
  readonly inventory: DeviceInventory;
  readonly assigned: PodDevices;
  /** Whether any container of the pod runs. */
  readonly isRunning: (uid: string) => boolean;
}

/**
 * Assigns devices in two steps.
 *
 * 1. `reserve` chooses devices at once, without their plugin. No other container can get them from then on.
 * 2. `settle` lets the plugin prefer other free devices, and calls its `Allocate`. Pods that request the same resource
 *    take turns, all others go on: a plugin that hangs delays only pods that request its devices.
 * 3. A device belongs to one container at a time; the exception are init containers, whose devices the later containers
 *    of the same pod reuse.
 */
export class DeviceAllocation {
  readonly #deps: DeviceAllocationDeps;
  readonly #reserved = new DeviceReservations();
  /** Containers, by pod, that were admitted in this process: the health of their devices is not checked again. */
  readonly #admitted = new Map<string, Set<string>>();
  readonly #turns = new KeyedMutex();

  constructor(deps: DeviceAllocationDeps) {
    this.#deps = deps;
  }

  isDeviceResource(name: string): boolean {
    const { inventory, assigned } = this.#deps;
    return inventory.has(name) || assigned.resources.has(name);
  }

  demands(pod: Pod, container: Container): ReadonlyMap<string, number> {
    return containerDemands(pod, container, (name) => this.isDeviceResource(name));
  }

  /** The devices that the container has or will get; `undefined` without any. */
  idsOf(uid: string, container: string, resource: string): DeviceIds | undefined {
    return this.#deps.assigned.ids(uid, container, resource) ?? this.#reserved.get(uid, container, resource)?.ids;
  }

  /** The same of all containers of the pod. */
  idsOfPod(uid: string, resource: string): DeviceIds {
    return this.#deps.assigned.allIds(resource, uid).union(this.#reserved.idsOfPod(uid, resource));
  }

  reusable(pod: Pod, container: Container, resource: string): DeviceIds {
    return reusableDevices(pod, container, (name) => this.idsOf(pod.metadata.uid, name, resource) ?? NO_IDS);
  }

  /** Healthy devices that no container has or will get. With `uid`: except for the reservations of this pod. */
  available(resource: string, uid?: string): DeviceIds {
    const { inventory, assigned } = this.#deps;
    const inUse = assigned.allIds(resource).union(this.#reserved.ids(resource, uid));
    return (inventory.healthy(resource) ?? NO_IDS).difference(inUse);
  }

  /** The number of devices in use by resource. */
  inUse(): ReadonlyMap<string, number> {
    const { assigned } = this.#deps;
    return new Map(
      [...assigned.resources].map((name) => [name, assigned.allIds(name).union(this.#reserved.ids(name)).size]),
    );
  }

  /** Throws with kubelet's text. */
  reserve(pod: Pod, container: Container, affinity: NumaMask | undefined): void {
    const { uid } = pod.metadata;
    if (this.#admitted.get(uid)?.has(container.name)) return;
    for (const [resource, required] of this.demands(pod, container)) {
      const has = this.#deps.assigned.ids(uid, container.name, resource);
      if (has && has.size !== required) {
        const change = `changed request for resource "${resource}" from ${has.size} to ${required}`;
        throw new Error(`pod "${uid}" container "${container.name}" ${change}`);
      }
      // A pod that ran before the agent started has its devices already, whether or not their plugin is back.
      if (this.#deps.isRunning(uid)) continue;
      this.#checkHealth(resource, has);
      if (has || required === 0) continue;
      const ids = completeChoice(chooseDevices(this.#demand(pod, container, { resource, required, affinity })), []);
      this.#reserved.set(uid, container.name, resource, { ids, affinity });
    }
    this.#admitted.set(uid, (this.#admitted.get(uid) ?? new Set()).add(container.name));
  }

  /** As `reserve`, for a resource that the node got after the pod was admitted. */
  reserveMissing(pod: Pod, container: Container): void {
    const { uid } = pod.metadata;
    for (const [resource, required] of this.demands(pod, container)) {
      if (required === 0 || this.idsOf(uid, container.name, resource)) continue;
      this.#checkHealth(resource, undefined);
      const demand = this.#demand(pod, container, { resource, required, affinity: undefined });
      const ids = completeChoice(chooseDevices(demand), []);
      this.#reserved.set(uid, container.name, resource, { ids, affinity: undefined });
    }
  }

  /** Assigns what is reserved. Returns whether anything was assigned; rejects with kubelet's text. */
  async settle(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const resources = this.#reserved.resources(pod.metadata.uid);
    for (const resource of resources) {
      await this.#turns.run(resource, () => this.#settleResource(pod, resource, signal));
    }
    return resources.length > 0;
  }

  /** Returns whether the pod had devices. */
  release(uid: string): boolean {
    this.#reserved.deletePod(uid);
    this.#admitted.delete(uid);
    return this.#deps.assigned.delete(uid);
  }

  /** Gives up what was reserved and not assigned. */
  cancel(uid: string): void {
    this.#reserved.deletePod(uid);
    this.#admitted.delete(uid);
  }

  #checkHealth(resource: string, has: DeviceIds | undefined): void {
    const healthy = this.#deps.inventory.healthy(resource);
    if (!healthy) throw new Error(`cannot allocate unregistered device ${resource}`);
    if (healthy.size === 0) {
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    }
    if (has && !has.isSubsetOf(healthy)) {
      const reason = 'previously allocated devices are no longer healthy';
      throw new Error(`${reason}; cannot allocate unhealthy devices ${resource}`);
    }
  }

  async #settleResource(pod: Pod, resource: string, signal: AbortSignal): Promise<void> {
    for (const container of containersInOrder(pod)) {
      if (!this.#reserved.get(pod.metadata.uid, container.name, resource)) continue;
      signal.throwIfAborted();
      await this.#settleContainer(pod, container, resource, signal);
    }
  }

  async #settleContainer(pod: Pod, container: Container, resource: string, signal: AbortSignal): Promise<void> {
    const { inventory, assigned } = this.#deps;
    const { uid } = pod.metadata;
    const preferred = await this.#preferred(this.#settledDemand(pod, container, resource), resource, signal);
    // Others may have reserved some of the devices meanwhile.
    const ids = completeChoice(chooseDevices(this.#settledDemand(pod, container, resource)), preferred);
    this.#reserveAgain(pod, container, resource, ids);
    const response = await inventory.plugin(resource).allocate([...ids], signal);
    if (!response) throw new Error('no containers return in allocation response ');
    if (!this.#reserved.get(uid, container.name, resource)) throw new Error(`pod ${uid} has released its devices`);
    const devices = inventory.devices(resource);
    const byNuma = byNumaNode(ids, (id) => devices.get(id)?.numaNodes ?? []);
    assigned.set(uid, container.name, resource, { devices: byNuma, response });
    this.#reserved.delete(uid, container.name, resource);
  }

  async #preferred(demand: DeviceDemand, resource: string, signal: AbortSignal): Promise<readonly string[]> {
    const { inventory } = this.#deps;
    const choice: DeviceChoice = chooseDevices(demand);
    if (choice.kind === 'chosen' || !inventory.options(resource)?.getPreferredAllocationAvailable) return [];
    try {
      return await inventory.plugin(resource).preferredAllocation(choice.request, signal);
    } catch (error) {
      signal.throwIfAborted();
      const text = `device plugin GetPreferredAllocation rpc failed with err: ${goErrorText(error)}`;
      throw new Error(text, { cause: error });
    }
  }

  /** The container gets these devices; its pod's later containers choose again, because they may have lost some. */
  #reserveAgain(pod: Pod, container: Container, resource: string, ids: DeviceIds): void {
    const { uid } = pod.metadata;
    const later = containersInOrder(pod).flatMap((each) => {
      const reservation = this.#reserved.get(uid, each.name, resource);
      return reservation && each.name !== container.name ? [{ each, reservation }] : [];
    });
    for (const { each } of later) this.#reserved.delete(uid, each.name, resource);
    const { affinity } = this.#reserved.get(uid, container.name, resource) ?? {};
    this.#reserved.set(uid, container.name, resource, { ids, affinity });
    for (const { each, reservation } of later) {
      const required = reservation.ids.size;
      const demand = this.#demand(pod, each, { resource, required, affinity: reservation.affinity });
      const chosen = completeChoice(chooseDevices(demand), []);
      this.#reserved.set(uid, each.name, resource, { ids: chosen, affinity: reservation.affinity });
    }
  }

  /** The reservations of the pod itself are free for it. */
  #settledDemand(pod: Pod, container: Container, resource: string): DeviceDemand {
    const { uid } = pod.metadata;
    const reservation = this.#reserved.get(uid, container.name, resource);
    if (!reservation) throw new Error(`pod ${uid} has released its devices`);
    const { ids, affinity } = reservation;
    const demand = this.#demand(pod, container, { resource, required: ids.size, affinity });
    return { ...demand, available: this.available(resource, uid) };
  }

  #demand(
    pod: Pod,
    container: Container,
    { resource, required, affinity }: { resource: string; required: number; affinity: NumaMask | undefined },
  ): DeviceDemand {
    return {
      resourceName: resource,
      required,
      reusable: this.reusable(pod, container, resource),
      available: this.available(resource),
      devices: this.#deps.inventory.devices(resource),
      affinity,
    };
  }
}
