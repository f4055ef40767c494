import { closeSync } from 'node:fs';
import type { MountIdMap } from '../../mounts.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { attachMount, mapMountIds, openTreeClone, type TreeReach } from '../sys/mount-calls.ts';
import { openUserNamespace } from './user-namespace.ts';

/** Errors of a mount below that cannot be mapped: its filesystem does not support it, or it is mapped already. */
const CANNOT_MAP: ReadonlySet<string | undefined> = new Set(['EINVAL', 'EPERM']);

export async function attachMapped(source: string, target: string, idMap: MountIdMap): Promise<void> {
  const namespace = await openUserNamespace(idMap);
  try {
    try {
      attach(source, target, namespace, 'whole');
    } catch (error) {
      if (!CANNOT_MAP.has(errnoCode(error))) throw error;
      attach(source, target, namespace, 'top');
    }
  } finally {
    closeSync(namespace);
  }
}

/** A mount can be mapped only while it is detached. */
function attach(source: string, target: string, namespace: number, reach: TreeReach): void {
  const clone = openTreeClone(source, reach);
  try {
    mapMountIds(clone, namespace, reach);
    attachMount(clone, target);
  } finally {
    closeSync(clone);
  }
}
