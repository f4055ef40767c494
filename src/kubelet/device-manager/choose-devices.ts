import type { PluginDevice, PreferredAllocationRequest } from '../../plugins/device/device-plugin.ts';
import { type NumaMask, numaMask, numaNodesOf } from '../topology/numa-mask.ts';

export type DeviceIds = ReadonlySet<string>;

/** All that the choice of devices depends on. */
export interface DeviceDemand {
  readonly resourceName: string;
  readonly required: number;
  /** Devices of the pod's init containers that have ended by then: they are taken first. */
  readonly reusable: DeviceIds;
  /** Healthy and not in use. */
  readonly available: DeviceIds;
  readonly devices: ReadonlyMap<string, PluginDevice>;
  /** `undefined`: any NUMA nodes. */
  readonly affinity: NumaMask | undefined;
}

/** The devices, or what the plugin may prefer before the rest is filled up. */
export type DeviceChoice =
  | { readonly kind: 'chosen'; readonly ids: DeviceIds }
  | {
      readonly kind: 'open';
      readonly request: PreferredAllocationRequest;
      readonly chosen: DeviceIds;
      /** What the plugin can choose from. */
      readonly preferable: DeviceIds;
      /** What is taken after that, in this order. */
      readonly rest: readonly DeviceIds[];
      readonly required: number;
    };

/** Throws kubelet's message when too few devices are available. */
export function chooseDevices(demand: DeviceDemand): DeviceChoice {
  const { required, reusable, available } = demand;
  const chosen = fill(new Set(), [reusable], required);
  if (chosen.size === required) return { kind: 'chosen', ids: chosen };
  const needed = required - chosen.size;
  if (available.size < needed) {
    const numbers = `Requested: ${needed}, Available: ${available.size}`;
    throw new Error(`requested number of devices unavailable for ${demand.resourceName}. ${numbers}`);
  }
  const { aligned, unaligned, noAffinity } = splitByAffinity(demand);
  if (needed < aligned.size) return open(chosen, { offered: aligned, rest: [aligned], required });
  const withAligned = fill(chosen, [aligned], required);
  if (withAligned.size === required) return { kind: 'chosen', ids: withAligned };
  return open(withAligned, { offered: available, rest: [unaligned, noAffinity], required });
}

/** Fills up what the plugin prefers; unknown and unavailable ids of it are ignored. */
export function completeChoice(choice: DeviceChoice, preferred: readonly string[]): DeviceIds {
  if (choice.kind === 'chosen') return choice.ids;
  const { chosen, preferable, rest, required } = choice;
  const wanted = new Set(preferred.filter((id) => preferable.has(id)));
  const ids = fill(chosen, [wanted, ...rest], required);
  if (ids.size === required) return ids;
  throw new Error(`unexpectedly allocated less resources than required. Requested: ${required}, Got: ${ids.size}`);
}

interface OpenChoice {
  readonly offered: DeviceIds;
  readonly rest: readonly DeviceIds[];
  readonly required: number;
}

function open(chosen: DeviceIds, { offered, rest, required }: OpenChoice): DeviceChoice {
  const request = { available: [...offered.union(chosen)], mustInclude: [...chosen], size: required };
  return { kind: 'open', request, chosen, preferable: offered, rest, required };
}

function fill(chosen: DeviceIds, sources: readonly DeviceIds[], required: number): DeviceIds {
  const filled = new Set(chosen);
  for (const source of sources) {
    for (const id of source) {
      if (filled.size >= required) return filled;
      filled.add(id);
    }
  }
  return filled;
}

/** Each available device is in one of the sets. */
export interface DevicesByAffinity {
  /** On a NUMA node of the affinity. */
  readonly aligned: DeviceIds;
  readonly unaligned: DeviceIds;
  /** Without a NUMA node; all of them if there is no affinity, or if no device of the resource has a node. */
  readonly noAffinity: DeviceIds;
}

export function splitByAffinity({ affinity, available, devices }: DeviceDemand): DevicesByAffinity {
  if (affinity === undefined || !isAligned(devices)) {
    return { aligned: new Set(), unaligned: new Set(), noAffinity: available };
  }
  const nodesOf = (id: string): readonly number[] => devices.get(id)?.numaNodes ?? [];
  const isIn = (id: string): boolean => (numaMask(nodesOf(id)) & affinity) !== 0n;
  const ids = [...available];
  return {
    aligned: new Set(ids.filter(isIn)),
    unaligned: new Set(ids.filter((id) => nodesOf(id).length > 0 && !isIn(id))),
    noAffinity: new Set(ids.filter((id) => nodesOf(id).length === 0)),
  };
}

/** Whether any device of the resource has a NUMA node: only then the plugin cares about alignment. */
export function isAligned(devices: ReadonlyMap<string, PluginDevice>): boolean {
  return [...devices.values()].some(({ numaNodes }) => numaNodes.length > 0);
}

/** The NUMA nodes of the machine that have devices of the resource; all of the machine if none has. */
export function nodesWithDevices(
  devices: ReadonlyMap<string, PluginDevice>,
  machineNodes: readonly number[],
): readonly number[] {
  const mask = numaMask([...devices.values()].flatMap(({ numaNodes }) => numaNodes)) & numaMask(machineNodes);
  return mask === 0n ? machineNodes : numaNodesOf(mask);
}
