import { posix } from 'node:path';
import type { Mounts } from '../../host/mounts.ts';
import type { NetworkedPod } from '../network/pod-network.ts';
import type { OciRuntimes } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { SandboxNamespaces, SandboxRecord } from '../store/sandbox-record.ts';
import { type PauseWatcher, pauseName } from './pause.ts';
import { namespaceFiles } from './plan-sandbox.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import type { SandboxStore } from './sandbox-store.ts';
import { cleanUpSandbox, type StopDeps } from './stop-sandbox.ts';
import { removeSandboxFolders, type TeardownDeps } from './teardown-sandbox.ts';

/** The runtime is not served during recovery: a cleanup that takes longer goes to the `CleanupRetryQueue`. */
const CLEANUP_TIMEOUT_MS = 30_000;

export interface RecoverDeps extends StopDeps, Pick<SandboxDeps, 'records' | 'bootId' | 'clock'> {
  readonly pauses: PauseWatcher;
}

/** What recovery does with a record of a previous process. */
export type SandboxRecovery = 'keep' | 'adopt' | 'lost' | 'undoCreate' | 'cleanUp';

/** `pinned`: the files that currently pin a namespace. */
export function decideSandboxRecovery(
  record: SandboxRecord,
  pinned: ReadonlySet<string>,
  bootId: string,
): SandboxRecovery {
  const { state, namespaces } = record;
  switch (state.phase) {
    case 'creating':
      return 'undoCreate';
    case 'unknown':
      return 'cleanUp';
    case 'notReady':
      return state.stopAsked && !state.networkDown ? 'cleanUp' : 'keep';
    case 'ready': {
      const isSameBoot = record.bootId === undefined || record.bootId === bootId;
      return isSameBoot && namespacePaths(namespaces).every((path) => pinned.has(path)) ? 'adopt' : 'lost';
    }
  }
}

/**
 * Runs at start-up, before any verb is served and before containers are recovered. Cleanups that are slow or fail go to
 * the `CleanupRetryQueue`.
 */
export async function recoverSandboxes(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, records, mounts, bootId } = deps;
  const pinned = await pinnedNamespaceFiles(mounts);
  await Promise.all(
    records.damaged.map((id) => tryOrEnqueue(id, deps, (limit) => removeDamaged(id, deps, limit), signal)),
  );
  await Promise.all(
    [...store.all.values()].map((record) =>
      recover(record, decideSandboxRecovery(record, pinned, bootId), deps, signal),
    ),
  );
  await removeOrphanFolders(deps, signal);
}

async function recover(
  record: SandboxRecord,
  recovery: SandboxRecovery,
  deps: RecoverDeps,
  signal: AbortSignal,
): Promise<void> {
  const { store, cleanups, pauses, log } = deps;
  const cleanUp = (limit: AbortSignal): Promise<void> => cleanUpSandbox(record.id, deps, limit);
  const { id, namespaces } = record;
  switch (recovery) {
    case 'keep':
      return;
    case 'adopt':
      if (record.pause) pauses.watch(record);
      return;
    case 'lost':
      log.warn('sandbox did not survive the restart', { sandboxId: id });
      await store.updateState(record, { phase: 'notReady', networkDown: namespaces.network === undefined });
      return;
    case 'undoCreate':
      return tryOrEnqueue(id, deps, (limit) => undoCreate(record, deps, limit), signal);
    case 'cleanUp':
      cleanups.add(id, cleanUp);
  }
}

async function undoCreate(record: SandboxRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { runtimes, paths } = deps;
  const { id, pause } = record;
  if (pause) await runtimeForRecord(runtimes, record).waitForInterruptedStart(pauseName(paths, id), signal);
  await cleanUpSandbox(id, deps, signal);
}

/** An error is logged and retried later, so that it does not block the start. */
async function tryOrEnqueue(
  id: string,
  { cleanups, clock, log }: RecoverDeps,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await work(AbortSignal.any([signal, clock.deadline(CLEANUP_TIMEOUT_MS)]));
  } catch (error) {
    signal.throwIfAborted();
    log.warn('cannot clean up sandbox left by a previous process, will retry', { sandboxId: id, error });
    cleanups.add(id, work);
  }
}

/** Removes everything that belongs to the id of an unreadable record. */
async function removeDamaged(id: string, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { runtimes, network, paths, records } = deps;
  for (const runtime of distinctRuntimes(runtimes)) {
    await runtime.waitForInterruptedStart(pauseName(paths, id), signal);
    await runtime.remove(pauseName(paths, id), signal);
  }
  await network.tearDown(podFromId(id, `${paths.sandbox(id)}/ns/net`), signal);
  await removeNamespacesAndFolders(id, deps);
  await records.store.remove(id);
}

/** Removes directories of sandboxes without a record. */
async function removeOrphanFolders(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { fs, paths, store, records } = deps;
  const known = new Set([...store.all.keys(), ...records.damaged]);
  const orphans = new Set<string>();
  for (const parent of [posix.dirname(paths.sandbox('id')), posix.dirname(paths.sandboxFiles('id'))]) {
    if ((await fs.stat(parent)) === undefined) continue;
    for (const { name } of await fs.readDirectory(parent)) if (!known.has(name)) orphans.add(name);
  }
  for (const id of orphans) await tryOrEnqueue(id, deps, () => removeNamespacesAndFolders(id, deps), signal);
}

async function removeNamespacesAndFolders(id: string, deps: TeardownDeps): Promise<void> {
  const { namespaces, mounts, paths } = deps;
  await namespaces.remove(namespaceFiles(paths.sandbox(id)));
  await mounts.unmount(`${paths.sandbox(id)}/shm`, { lazy: true });
  await removeSandboxFolders(id, deps);
}

async function pinnedNamespaceFiles(mounts: Pick<Mounts, 'list'>): Promise<ReadonlySet<string>> {
  return new Set((await mounts.list()).filter(({ type }) => type === 'nsfs').map(({ target }) => target));
}

function namespacePaths({ network, ipc, uts, pid, user }: SandboxNamespaces): string[] {
  return [network, ipc, uts, pid, user?.path].filter((path) => path !== undefined);
}

function distinctRuntimes(runtimes: OciRuntimes) {
  return new Set(
    runtimes.handlers.map(({ name }) => runtimes.handler(name)).filter((runtime) => runtime !== undefined),
  );
}

/** Sandboxes whose network is in use, or not torn down yet. */
export function networkedSandboxes(store: Pick<SandboxStore, 'all'>): ReadonlySet<string> {
  const records = [...store.all.values()].filter(({ state }) => state.phase !== 'notReady' || !state.networkDown);
  return new Set(records.map(({ id }) => id));
}

function podFromId(sandboxId: string, namespacePath: string): NetworkedPod {
  const dns = { servers: [], searches: [], options: [] };
  const nothing = { name: '', namespace: '', uid: '', annotations: {}, portMappings: [], cgroupParent: '' };
  return { sandboxId, runtimeHandler: '', namespacePath, ...nothing, dns };
}
