import { unlink } from 'node:fs/promises';
import type { NamespaceFiles, Namespaces } from '../../namespaces.ts';
import { unlessMissing } from '../fs/unless-missing.ts';
import { linuxMounts } from '../mount/linux-mounts.ts';
import {
  createNamespaceThreadClient,
  type NamespaceOperation,
  type NamespaceThreadClient,
  ThreadEndedError,
} from './namespace-thread-client.ts';

/** Namespaces of this machine. */
export function createLinuxNamespaces(thread: NamespaceThreadClient = createNamespaceThreadClient()): Namespaces {
  async function make(operation: NamespaceOperation, files: NamespaceFiles): Promise<void> {
    try {
      await thread.request(operation);
    } catch (error) {
      if (error instanceof ThreadEndedError) await remove(Object.values(files));
      throw error;
    }
  }

  return {
    create: (request) => make({ kind: 'create', ...request }, request.files),
    pin: (pid, files) => make({ kind: 'pin', pid, files }, files),
    remove,
    warmUp: () => thread.warmUp(),
  };
}

async function remove(files: readonly string[]): Promise<void> {
  await Promise.all(
    files.map(async (file) => {
      // Lazy: a process that is joining the namespace must not keep the file from being removed.
      await linuxMounts.unmount(file, { lazy: true });
      await unlessMissing(unlink(file));
    }),
  );
}
