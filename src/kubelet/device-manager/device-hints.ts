import type { PluginDevice } from '../../plugins/device/device-plugin.ts';
import type { TopologyHint } from '../topology/hint-provider.ts';
import { type NumaMask, numaCount, numaMask } from '../topology/numa-mask.ts';
import { type DeviceIds, nodesWithDevices } from './choose-devices.ts';

export interface HintView {
  readonly devices: ReadonlyMap<string, PluginDevice>;
  readonly available: DeviceIds;
  readonly reusable: DeviceIds;
  readonly requested: number;
  /** The NUMA nodes of the machine. */
  readonly machineNodes: readonly number[];
}

/** The sets of NUMA nodes that have enough devices. Those that are as small as the machine allows are preferred. */
export function deviceHints({
  devices,
  available,
  reusable,
  requested,
  machineNodes,
}: HintView): readonly TopologyHint[] {
  const nodes = nodesWithDevices(devices, machineNodes);
  const masks = new Map([...devices].map(([id, { numaNodes }]) => [id, numaMask(numaNodes)]));
  const isOn = (id: string, mask: NumaMask): boolean => ((masks.get(id) ?? 0n) & mask) !== 0n;
  const found: NumaMask[] = [];
  let fewest = nodes.length;
  for (const mask of masksOf(nodes)) {
    const size = numaCount(mask);
    if (countOn(devices.keys(), mask, isOn) >= requested) fewest = Math.min(fewest, size);
    const bound = [...reusable].filter((id) => (masks.get(id) ?? 0n) !== 0n);
    if (bound.some((id) => !isOn(id, mask))) continue;
    if (bound.length + countOn(available, mask, isOn) >= requested) found.push(mask);
  }
  return found.map((affinity) => ({ affinity, preferred: numaCount(affinity) === fewest }));
}

function countOn(ids: Iterable<string>, mask: NumaMask, isOn: (id: string, mask: NumaMask) => boolean): number {
  let count = 0;
  for (const id of ids) if (isOn(id, mask)) count++;
  return count;
}

/** All sets of at least one node: small ones first, lower nodes first. */
function* masksOf(nodes: readonly number[]): Generator<NumaMask> {
  for (let size = 1; size <= nodes.length; size++) yield* masksOfSize(nodes, size);
}

function* masksOfSize(nodes: readonly number[], size: number): Generator<NumaMask> {
  if (size === 0) yield 0n;
  for (const [index, node] of size === 0 ? [] : nodes.entries()) {
    for (const mask of masksOfSize(nodes.slice(index + 1), size - 1)) yield numaMask([node]) | mask;
  }
}
