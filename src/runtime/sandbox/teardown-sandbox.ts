import type { NetworkedPod } from '../network/pod-network.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { pauseName, stopPause } from './pause.ts';
import { namespaceFiles } from './plan-sandbox.ts';
import type { SandboxDeps } from './sandbox-deps.ts';

export type TeardownDeps = Pick<SandboxDeps, 'paths' | 'runtimes' | 'network' | 'namespaces' | 'mounts' | 'fs'>;

/**
 * Releases all resources of a sandbox except its directories and its record. Idempotent, also after a partial create or
 * teardown. Returns the errors. If the network teardown fails, the network namespace stays, because plugins need it.
 */
export async function teardownSandbox(
  record: SandboxRecord,
  deps: TeardownDeps,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const { paths, runtimes, mounts } = deps;
  const { id, pause } = record;
  // Concurrently: the three are independent of each other.
  const ended = await Promise.allSettled([
    pause ? stopPause(runtimeForRecord(runtimes, record), pauseName(paths, id), signal) : undefined,
    teardownNetwork(record, deps, signal),
    mounts.unmount(`${paths.sandbox(id)}/shm`, { lazy: true }),
  ]);
  return ended.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
}

async function teardownNetwork(record: SandboxRecord, deps: TeardownDeps, signal: AbortSignal): Promise<void> {
  if (record.namespaces.network !== undefined) await deps.network.tearDown(networkedPod(record), signal);
  await deps.namespaces.remove(namespaceFiles(deps.paths.sandbox(record.id)));
}

/** Removes the directories that are left after a teardown. */
export async function removeSandboxFolders(
  id: string,
  { paths, fs }: Pick<TeardownDeps, 'paths' | 'fs'>,
): Promise<void> {
  const folders = [paths.sandbox(id), paths.sandboxFiles(id), paths.bundle(id)];
  await Promise.all(folders.map((folder) => fs.removeTree(folder)));
}

export function networkedPod({ id, config, namespaces, runtimeHandler }: SandboxRecord): NetworkedPod {
  const { name = '', namespace = '', uid = '' } = config.metadata ?? {};
  const { servers = [], searches = [], options = [] } = config.dnsConfig ?? {};
  return {
    sandboxId: id,
    runtimeHandler,
    namespacePath: namespaces.network ?? '',
    name,
    namespace,
    uid,
    annotations: config.annotations,
    portMappings: config.portMappings,
    cgroupParent: config.linux?.cgroupParent ?? '',
    dns: { servers, searches, options },
  };
}
