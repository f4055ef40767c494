import type { ResourceClaim } from '../../api/generated/core-v1.ts';

/** A device of a prepared claim, as its driver described it. */
export interface ClaimDevice {
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId?: string | undefined;
  /** The requests of the claim that the device is for; empty: all. */
  readonly requestNames: readonly string[];
  /** Fully qualified names of CDI. */
  readonly cdiDeviceIds: readonly string[];
}

/** What is known of a claim that pods on this node use. Immutable: a change makes a new value. */
export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The pods that use it, or may do so. */
  readonly podUids: ReadonlySet<string>;
  /** The drivers of its allocation, also those that have no devices in it. */
  readonly devices: ReadonlyMap<string, readonly ClaimDevice[]>;
}

export function claimKey({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** `undefined` for a claim that is not allocated. */
export function newClaimInfo({ metadata, status }: ResourceClaim): ClaimInfo | undefined {
  if (!status?.allocation) return undefined;
  const { uid = '', name, namespace = '' } = metadata;
  const drivers = (status.allocation.devices?.results ?? []).map(({ driver }) => driver);
  return { uid, name, namespace, podUids: new Set(), devices: new Map(drivers.map((driver) => [driver, []])) };
}

export function withPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return { ...info, podUids: new Set([...info.podUids, podUid]) };
}

export function withoutPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return { ...info, podUids: new Set([...info.podUids].filter((uid) => uid !== podUid)) };
}

/** The answer of a driver replaces what it answered before. */
export function withDevices(info: ClaimInfo, driver: string, devices: readonly ClaimDevice[]): ClaimInfo {
  return { ...info, devices: new Map([...info.devices, [driver, devices]]) };
}

/** The CDI devices of one request of the claim; of all for the empty name. */
export function cdiDevices({ devices }: ClaimInfo, request: string): readonly string[] {
  const all = [...devices.values()].flat();
  return all.filter((device) => isOfRequest(device, request)).flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
}

/** Whether the device is for the request, or for the one of which it names a subrequest; the empty name stands for all. */
export function isOfRequest({ requestNames }: ClaimDevice, request: string): boolean {
  const names = [request, baseRequest(request)];
  return request === '' || requestNames.length === 0 || requestNames.some((name) => names.includes(name));
}

/** The request of a reference to one of its subrequests: `gpu` of `gpu/small`. */
function baseRequest(request: string): string {
  return request.split('/')[0] ?? request;
}
