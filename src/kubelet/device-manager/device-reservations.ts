import { byCodePoint } from '../../base/code-point-order.ts';
import type { NumaMask } from '../topology/numa-mask.ts';
import type { DeviceIds } from './choose-devices.ts';

/** Devices that a container will get. Its plugin has not allocated them yet, and may prefer others. */
export interface Reservation {
  readonly ids: DeviceIds;
  /** The hint that they were chosen for. */
  readonly affinity: NumaMask | undefined;
}

type ByResource = Map<string, Reservation>;

/** Reservations by pod, container and resource. They live only in memory: no container uses them yet. */
export class DeviceReservations {
  readonly #pods = new Map<string, Map<string, ByResource>>();

  get(uid: string, container: string, resource: string): Reservation | undefined {
    return this.#pods.get(uid)?.get(container)?.get(resource);
  }

  set(uid: string, container: string, resource: string, reservation: Reservation): void {
    const byContainer = this.#pods.get(uid) ?? new Map<string, ByResource>();
    const byResource = byContainer.get(container) ?? new Map<string, Reservation>();
    this.#pods.set(uid, byContainer.set(container, byResource.set(resource, reservation)));
  }

  delete(uid: string, container: string, resource: string): void {
    this.#pods.get(uid)?.get(container)?.delete(resource);
  }

  deletePod(uid: string): void {
    this.#pods.delete(uid);
  }

  /** The resources that the pod has reservations of, in the order of names. */
  resources(uid: string): readonly string[] {
    const containers = [...(this.#pods.get(uid)?.values() ?? [])];
    return [...new Set(containers.flatMap((byResource) => [...byResource.keys()]))].toSorted(byCodePoint);
  }

  /** All ids of the resource, except those of one pod. */
  ids(resource: string, exceptUid?: string): DeviceIds {
    const others = [...this.#pods.keys()].filter((uid) => uid !== exceptUid);
    return new Set(others.flatMap((uid) => [...this.idsOfPod(uid, resource)]));
  }

  idsOfPod(uid: string, resource: string): DeviceIds {
    const containers = [...(this.#pods.get(uid)?.values() ?? [])];
    return new Set(containers.flatMap((byResource) => [...(byResource.get(resource)?.ids ?? [])]));
  }
}
