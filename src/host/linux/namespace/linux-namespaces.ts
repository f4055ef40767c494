import { unlink } from 'node:fs/promises';
import type { NamespaceFiles, Namespaces } from '../../namespaces.ts';
import { unlessMissing } from '../fs/unless-missing.ts';
import { linuxMounts } from '../mount/linux-mounts.ts';
import {
  createNamespaceOrders,
  type NamespaceOrders,
  type OrderToThread,
  ThreadEndedError,
} from './namespace-orders.ts';

/** The machine's namespaces. */
export function createLinuxNamespaces(orders: NamespaceOrders = createNamespaceOrders()): Namespaces {
  async function make(order: OrderToThread, files: NamespaceFiles): Promise<void> {
    try {
      await orders.give(order);
    } catch (error) {
      if (error instanceof ThreadEndedError) await remove(Object.values(files));
      throw error;
    }
  }

  return {
    create: (request) => make({ kind: 'create', ...request }, request.files),
    pin: (pid, files) => make({ kind: 'pin', pid, files }, files),
    remove,
    warmUp: () => orders.warmUp(),
  };
}

async function remove(files: readonly string[]): Promise<void> {
  await Promise.all(
    files.map(async (file) => {
      // A process that was just joining must not keep the file from going.
      await linuxMounts.unmount(file, { lazy: true });
      await unlessMissing(unlink(file));
    }),
  );
}
