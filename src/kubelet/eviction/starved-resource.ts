import { Quantity } from '../../base/quantity.ts';
import type { PressureSignal } from '../node/signals/pressure-signal.ts';

/** The resource that a signal is about, as kubelet names it in messages. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export const SIGNAL_RESOURCES: Readonly<Record<PressureSignal, StarvedResource>> = {
  'memory.available': 'memory',
  'allocatableMemory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
  'nodefs.inodesFree': 'inodes',
  'imagefs.available': 'ephemeral-storage',
  'imagefs.inodesFree': 'inodes',
  'containerfs.available': 'ephemeral-storage',
  'containerfs.inodesFree': 'inodes',
  'pid.available': 'pids',
};

const NANO = 1_000_000_000n;

export function bytesQuantity(bytes: bigint | number): Quantity {
  return new Quantity(BigInt(bytes) * NANO, 'BinarySI');
}

/** An amount of the resource, in the notation that kubelet prints it in. */
export function quantityOf(resource: StarvedResource, amount: bigint): Quantity {
  const isCount = resource === 'inodes' || resource === 'pids';
  return new Quantity(amount * NANO, isCount ? 'DecimalSI' : 'BinarySI');
}

export function isOfDisk(signal: PressureSignal): boolean {
  const resource = SIGNAL_RESOURCES[signal];
  return resource === 'ephemeral-storage' || resource === 'inodes';
}
