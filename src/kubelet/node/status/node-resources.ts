import type { NodeStatus } from '../../../api/generated/core-v1.ts';
import type { ResourceList } from '../../../api/pod-resources.ts';
import { parseQuantity, Quantity, type QuantityFormat } from '../../../base/quantity.ts';
import type { NodeSettings } from '../node-settings.ts';
import { thresholdAmount } from '../signals/pressure-signal.ts';

/** The capacity of the machine. */
export interface MachineResources {
  readonly cpuCount: number;
  readonly memoryBytes: number;
  /** Bytes by resource name: `hugepages-2Mi`. */
  readonly hugePages: ResourceList;
  /** The size of the root directory's file system; `undefined` if it could not be read. */
  readonly storageBytes?: number | undefined;
}

/** The devices of plugins, by resource. */
export interface DeviceCounts {
  /** All devices. */
  readonly capacity: ReadonlyMap<string, number>;
  /** Those that are healthy; absent for a plugin that never reported: all. */
  readonly allocatable: ReadonlyMap<string, number>;
  /** Resources whose plugins are lost for longer than kubelet's grace period. */
  readonly removed: ReadonlySet<string>;
}

export const NO_DEVICES: DeviceCounts = { capacity: new Map(), allocatable: new Map(), removed: new Set() };

export interface NodeResources {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

type Amounts = ReadonlyMap<string, Quantity>;

type ReservationSettings = Pick<
  NodeSettings,
  'systemReserved' | 'kubeReserved' | 'reservedCpus' | 'thresholds' | 'reservesThresholds'
>;
type CapacitySettings = Pick<NodeSettings, 'maxPods' | 'podsPerCore' | 'hasEphemeralStorage'>;

const ZERO = new Quantity(0n, 'DecimalSI');

/**
 * Resources of other writers keep their values in the status. A resource whose device plugin is lost stays with an amount of
 * zero.
 */
export function nodeResources(
  machine: MachineResources,
  settings: ReservationSettings & CapacitySettings,
  before: Pick<NodeStatus, 'capacity' | 'allocatable'> = {},
  devices: DeviceCounts = NO_DEVICES,
): NodeResources {
  const own = machineCapacity(machine, settings);
  const ofPlugins = [...devices.capacity].map(([name, count]) => [name, whole(count, 'DecimalSI')] as const);
  const removed = [...devices.removed].map((name) => [name, ZERO] as const);
  const capacity = new Map([...amounts(before.capacity), ...own, ...ofPlugins, ...removed]);
  const reserved = reservedAmounts(own, settings);
  const allocatable = new Map([...amounts(before.allocatable)].filter(([name]) => keeps(name, capacity)));
  for (const [name, amount] of capacity) allocatable.set(name, without(amount, reserved.get(name) ?? ZERO));
  for (const [name, count] of devices.allocatable) allocatable.set(name, whole(count, 'DecimalSI'));
  const memory = [...capacity]
    .filter(([name]) => isHugePages(name))
    .reduce((rest, [, amount]) => without(rest, amount), allocatable.get('memory') ?? ZERO);
  return { capacity: texts(capacity), allocatable: texts(new Map([...allocatable, ['memory', memory]])) };
}

/** What the node keeps from pods: for the system, for Kubernetes' own daemons, and for eviction. */
export function nodeReservation(machine: MachineResources, settings: ReservationSettings & CapacitySettings): Amounts {
  return reservedAmounts(machineCapacity(machine, settings), settings);
}

/** The limits of all pods together if they are enforced, without the reserve for eviction. */
export function enforcedAmounts(machine: MachineResources, settings: ReservationSettings & CapacitySettings): Amounts {
  const own = machineCapacity(machine, settings);
  const reserved = reservedAmounts(own, { ...settings, reservesThresholds: false });
  return new Map([...own].map(([name, amount]) => [name, without(amount, reserved.get(name) ?? ZERO)]));
}

/** Resources of which more is reserved than the machine has, in kubelet's words. */
export function overReserved(
  machine: MachineResources,
  settings: ReservationSettings & CapacitySettings,
): readonly string[] {
  const own = machineCapacity(machine, settings);
  return [...reservedAmounts(own, settings)].flatMap(([name, reserved]) => {
    const capacity = own.get(name) ?? ZERO;
    if (!capacity.sub(reserved).isNegative()) return [];
    return `Resource "${name}" has a reservation of ${reserved} but capacity of ${capacity}. Expected capacity >= reservation.`;
  });
}

export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

function machineCapacity(machine: MachineResources, settings: CapacitySettings): Amounts {
  const { cpuCount, memoryBytes, hugePages, storageBytes } = machine;
  const { maxPods, podsPerCore, hasEphemeralStorage } = settings;
  const pods = podsPerCore > 0 ? Math.min(cpuCount * podsPerCore, maxPods) : maxPods;
  return new Map([
    ['cpu', whole(cpuCount, 'DecimalSI')],
    ['memory', whole(memoryBytes, 'BinarySI')],
    ...Object.entries(hugePages).map(([name, bytes]) => [name, whole(bytes, 'BinarySI')] as const),
    ['pods', whole(pods, 'DecimalSI')],
    ...(hasEphemeralStorage && storageBytes !== undefined
      ? [['ephemeral-storage', whole(storageBytes, 'BinarySI')] as const]
      : []),
  ]);
}

function reservedAmounts(capacity: Amounts, settings: ReservationSettings): Amounts {
  const { systemReserved, kubeReserved, reservedCpus } = settings;
  const cpus = reservedCpus > 0 ? whole(reservedCpus, 'DecimalSI') : undefined;
  const kept = thresholdReservation(capacity, settings);
  return new Map(
    [...capacity.keys()].map((name) => {
      if (name === 'cpu' && cpus) return [name, cpus];
      const parts = [systemReserved.get(name), kubeReserved.get(name), kept.get(name)];
      return [name, parts.reduce<Quantity>((sum, part) => (part ? sum.add(part) : sum), ZERO)];
    }),
  );
}

/** The amounts that hard thresholds reserve, only of memory and the node's file system. */
function thresholdReservation(capacity: Amounts, settings: ReservationSettings): Amounts {
  if (!settings.reservesThresholds) return new Map();
  const kept = new Map<string, Quantity>();
  for (const { signal, value, gracePeriodMs } of settings.thresholds) {
    const name =
      signal === 'memory.available' ? 'memory' : signal === 'nodefs.available' ? 'ephemeral-storage' : undefined;
    if (name === undefined || gracePeriodMs > 0) continue;
    kept.set(name, whole(thresholdAmount(value, capacity.get(name)?.value() ?? 0n), 'BinarySI'));
  }
  return kept;
}

/** An extended resource that is no longer in the capacity is removed. */
function keeps(name: string, capacity: Amounts): boolean {
  return capacity.has(name) || !isExtended(name);
}

export function isExtended(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/');
}

function without(amount: Quantity, taken: Quantity): Quantity {
  if (taken.isZero()) return amount;
  const rest = amount.sub(taken);
  return rest.isNegative() ? new Quantity(0n, rest.format) : rest;
}

function whole(amount: number | bigint | string, format: QuantityFormat): Quantity {
  return new Quantity(BigInt(amount) * 1_000_000_000n, format);
}

function amounts(list: ResourceList = {}): Amounts {
  return new Map(Object.entries(list).map(([name, text]) => [name, parseQuantity(text)]));
}

function texts(list: Amounts): Record<string, string> {
  return Object.fromEntries([...list].map(([name, amount]) => [name, amount.toString()]));
}
