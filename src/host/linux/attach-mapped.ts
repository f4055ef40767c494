import { closeSync } from 'node:fs';
import type { MountIdMap } from '../mounts.ts';
import { attachMount, mapMountIds, openTreeClone } from './tree-calls.ts';
import { openUserNamespace } from './user-namespace.ts';

/** A mount can be mapped only while it is attached nowhere. */
export async function attachMapped(source: string, target: string, idMap: MountIdMap): Promise<void> {
  const clone = openTreeClone(source);
  try {
    const namespace = await openUserNamespace(idMap);
    try {
      mapMountIds(clone, namespace);
    } finally {
      closeSync(namespace);
    }
    attachMount(clone, target);
  } finally {
    closeSync(clone);
  }
}
