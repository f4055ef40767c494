import { posix } from 'node:path';
import type { Mounts } from '../../host/mounts.ts';
import type { NetworkedPod } from '../network/pod-network.ts';
import type { OciRuntimes } from '../oci/oci-runtime.ts';
import type { SandboxNamespaces, SandboxRecord } from '../store/sandbox-record.ts';
import { type PauseWatcher, pauseName, runtimeForHandler } from './pause.ts';
import { namespaceFiles } from './plan-sandbox.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import type { SandboxStore } from './sandbox-store.ts';
import { cleanUpSandbox, type StopDeps } from './stop-sandbox.ts';
import { removeSandboxFolders, type TeardownDeps } from './teardown-sandbox.ts';

/** Nobody is served meanwhile: what hangs for longer is left to `FinishLater`. */
const CLEANUP_TIMEOUT_MS = 30_000;

export interface RecoverDeps extends StopDeps, Pick<SandboxDeps, 'records' | 'bootId' | 'clock'> {
  readonly pauses: PauseWatcher;
}

/** What a start has to do about a record. */
export type SandboxRecovery = 'keep' | 'adopt' | 'lost' | 'undo' | 'finish';

/** `held`: the files that hold a namespace now. */
export function decideSandboxRecovery(record: SandboxRecord, held: ReadonlySet<string>, bootId: string): SandboxRecovery {
  const { state, namespaces } = record;
  switch (state.phase) {
    case 'creating':
      return 'undo';
    case 'unknown':
      return 'finish';
    case 'notReady':
      return state.stopAsked && !state.networkDown ? 'finish' : 'keep';
    case 'ready': {
      const isSameBoot = record.bootId === undefined || record.bootId === bootId;
      return isSameBoot && namespacePaths(namespaces).every((path) => held.has(path)) ? 'adopt' : 'lost';
    }
  }
}

/**
 * After a start: before any verb is served, and before containers are recovered. What takes long, or may fail, is left to
 * `FinishLater`.
 */
export async function recoverSandboxes(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, records, mounts, bootId } = deps;
  const held = await pinnedNamespaceFiles(mounts);
  await Promise.all(records.damaged.map((id) => tryOrEnqueue(id, deps, (limit) => removeDamaged(id, deps, limit), signal)));
  await Promise.all(
    [...store.all.values()].map((record) => recover(record, decideSandboxRecovery(record, held, bootId), deps, signal)),
  );
  await removeOrphanFolders(deps, signal);
}

async function recover(
  record: SandboxRecord,
  verdict: SandboxRecovery,
  deps: RecoverDeps,
  signal: AbortSignal,
): Promise<void> {
  const { store, later, pauses, log } = deps;
  const finish = (limit: AbortSignal): Promise<void> => cleanUpSandbox(record.id, deps, limit);
  const { id, namespaces } = record;
  switch (verdict) {
    case 'keep':
      return;
    case 'adopt':
      if (record.pause) pauses.follow(record);
      return;
    case 'lost':
      log.warn('a sandbox has not survived', { sandboxId: id });
      await store.updateState(record, { phase: 'notReady', networkDown: namespaces.network === undefined });
      return;
    case 'undo':
      return tryOrEnqueue(id, deps, (limit) => undoCreate(record, deps, limit), signal);
    case 'finish':
      later.add(id, finish);
  }
}

async function undoCreate(record: SandboxRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { runtimes, paths } = deps;
  const { id, pause, runtimeHandler } = record;
  if (pause) await runtimeForHandler(runtimes, runtimeHandler).settleStart(pauseName(paths, id), signal);
  await cleanUpSandbox(id, deps, signal);
}

/** One that cannot be cleaned up must not keep all others from being served. */
async function tryOrEnqueue(
  id: string,
  { later, clock, log }: RecoverDeps,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await work(AbortSignal.any([signal, clock.deadline(CLEANUP_TIMEOUT_MS)]));
  } catch (error) {
    signal.throwIfAborted();
    log.warn('cannot take down what is left of a sandbox', { sandboxId: id, error });
    later.add(id, work);
  }
}

/** Nobody can say what it had: everything that bears its id goes. */
async function removeDamaged(id: string, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { runtimes, network, paths, records } = deps;
  for (const runtime of distinctRuntimes(runtimes)) {
    await runtime.settleStart(pauseName(paths, id), signal);
    await runtime.remove(pauseName(paths, id), signal);
  }
  await network.tearDown(podFromId(id, `${paths.sandbox(id)}/ns/net`), signal);
  await removeNamespacesAndFolders(id, deps);
  await records.store.remove(id);
}

/** Folders of sandboxes that no record speaks of. */
async function removeOrphanFolders(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { fs, paths, store, records } = deps;
  const known = new Set([...store.all.keys(), ...records.damaged]);
  const strays = new Set<string>();
  for (const parent of [posix.dirname(paths.sandbox('id')), posix.dirname(paths.sandboxFiles('id'))]) {
    if ((await fs.stat(parent)) === undefined) continue;
    for (const { name } of await fs.readDirectory(parent)) if (!known.has(name)) strays.add(name);
  }
  for (const id of strays) await tryOrEnqueue(id, deps, () => removeNamespacesAndFolders(id, deps), signal);
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

/** The sandboxes whose network somebody may still need, or has yet to take down. */
export function networkedSandboxes(store: Pick<SandboxStore, 'all'>): ReadonlySet<string> {
  const records = [...store.all.values()].filter(({ state }) => state.phase !== 'notReady' || !state.networkDown);
  return new Set(records.map(({ id }) => id));
}

function podFromId(sandboxId: string, namespacePath: string): NetworkedPod {
  const dns = { servers: [], searches: [], options: [] };
  const nothing = { name: '', namespace: '', uid: '', annotations: {}, portMappings: [], cgroupParent: '' };
  return { sandboxId, namespacePath, ...nothing, dns };
}
