import { posix } from 'node:path';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, idMapForSandbox, monitoredName } from './container-deps.ts';
import { bundleConfigPath, listNames, mountBundle, releaseBundle } from './container-files.ts';
import { failedStart, nanoseconds, unknownExit } from './container-state.ts';
import { type DeleteDeps, deleteContainer } from './delete-container.ts';
import { resolveImageVolumes } from './image-volumes.ts';
import { recordExit } from './terminate-container.ts';

export type RecoverDeps = DeleteDeps & Pick<ContainerDeps, 'images' | 'bootId' | 'records' | 'ociCommand'>;

/** `status` of crun and runc for a container whose program has started. */
const STARTED_STATUSES = new Set(['running', 'paused', 'stopped']);

/** What recovery does with a container of a previous process. */
export type ContainerRecovery = 'delete' | 'remount' | 'resolveStart' | 'watch' | 'lostInReboot' | 'keep';

export function decideContainerRecovery({ state }: ContainerRecord, bootId: string): ContainerRecovery {
  switch (state.phase) {
    case 'creating':
      return 'delete';
    case 'created':
      return 'remount';
    case 'starting':
      return 'resolveStart';
    case 'running':
      return (state.bootId ?? bootId) === bootId ? 'watch' : 'lostInReboot';
    case 'exited':
      return 'keep';
    default:
      return assertNever(state);
  }
}

/**
 * Recovers all containers concurrently after a crash or a reboot. Running containers are not touched. Errors are logged
 * per container and do not stop the others.
 */
export async function recoverContainers(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, log } = deps;
  const orphans = await orphanIds(deps);
  const each = async (id: string, work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      signal.throwIfAborted();
      log.error('cannot recover container', { containerId: id, error });
    }
  };
  await Promise.all([
    ...[...store.all.values()].map((record) => each(record.id, recover(record, deps, signal))),
    ...orphans.map((id) => each(id, removeOrphan(id, deps, signal))),
  ]);
}

async function recover(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { exitWatcher, bootId, clock, runtimes, paths } = deps;
  const recovery = decideContainerRecovery(record, bootId);
  switch (recovery) {
    case 'delete':
      return deleteInterrupted(record, deps, signal);
    case 'remount':
      return remount(record, deps, signal);
    case 'resolveStart':
      return resolveInterruptedStart(record, deps, signal);
    case 'watch':
      exitWatcher.watch(record);
      return runtimeForRecord(runtimes, record).killLeftoverExecs(monitoredName(paths, record.id));
    case 'lostInReboot': {
      const message = 'the machine was restarted while the container ran';
      return recordExit(record.id, unknownExit(message, nanoseconds(clock.now())), deps);
    }
    case 'keep':
      return;
    default:
      return assertNever(recovery);
  }
}

async function deleteInterrupted({ id }: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  try {
    await deleteContainer(id, deps, signal);
  } catch (error) {
    // Listed as exited, so that it can be removed like any other.
    await deps.store.applyEvent(id, failedStart(`its creation was interrupted: ${errorText(error)}`, now(deps)));
    throw error;
  }
}

async function remount(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { fs, paths, images, sandboxes } = deps;
  const { id, imageId, config, sandboxId } = record;
  if ((await fs.stat(bundleConfigPath(paths, id))) === undefined) {
    return recordExit(id, unknownExit('the machine was restarted before the container was started', now(deps)), deps);
  }
  try {
    const idMap = idMapForSandbox(sandboxes.all.get(sandboxId));
    await mountBundle({ id, imageId, idMap, imageVolumes: resolveImageVolumes(config, images) }, deps, signal);
  } catch (error) {
    signal.throwIfAborted();
    await recordExit(id, failedStart(`its files cannot be mounted again: ${errorText(error)}`, now(deps)), deps);
  }
}

/** The result of the start was never recorded: either the container runs, or the start is undone. */
async function resolveInterruptedStart(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, exitWatcher, events, runtimes, paths, clock, bootId } = deps;
  const { id, sandboxId } = record;
  await runtimeForRecord(runtimes, record).waitForInterruptedStart(monitoredName(paths, id), signal);
  const pid = await pidOfInterruptedStart(record, deps, signal);
  if (pid !== undefined) {
    const startedAtNs = nanoseconds(clock.now());
    const started = await store.applyEvent(id, { type: 'started', pid, startedAtNs, bootId });
    if (started) exitWatcher.watch(started);
    events.publish({ type: ContainerEventType.CONTAINER_STARTED_EVENT, sandboxId, containerId: id });
    return;
  }
  await runtimeForRecord(runtimes, record).remove(monitoredName(paths, id), signal);
  const undone = await store.applyEvent(id, { type: 'startUndone' });
  if (undone) await remount(undone, deps, signal);
}

/** PID of a container whose start was interrupted; `undefined` if its program never ran. Costs one process. */
async function pidOfInterruptedStart(
  record: ContainerRecord,
  { runtimes, ociCommand }: Pick<ContainerDeps, 'runtimes' | 'ociCommand'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { exitCode, stdout } = await ociCommand(runtimeForRecord(runtimes, record), ['state', record.id], signal);
  return exitCode === 0 ? parsePid(new TextDecoder().decode(stdout)) : undefined;
}

function parsePid(text: string): number | undefined {
  let state: { readonly status?: unknown; readonly pid?: unknown };
  try {
    state = JSON.parse(text);
  } catch {
    return undefined; // the OCI runtime was killed while it created the container
  }
  if (typeof state.status !== 'string' || !STARTED_STATUSES.has(state.status)) return undefined;
  return typeof state.pid === 'number' ? state.pid : 0;
}

/** Ids of bundles, writable layers and damaged records without a record. Pause containers have their sandbox's id. */
async function orphanIds({ fs, paths, snapshots, sandboxes, store, records }: RecoverDeps): Promise<readonly string[]> {
  const [bundles, layers] = await Promise.all([listNames(fs, posix.dirname(paths.bundle('id'))), snapshots.list()]);
  const found = new Set([...bundles, ...layers, ...records.damaged]);
  return [...found].filter((id) => !store.all.has(id) && !sandboxes.all.has(id));
}

async function removeOrphan(id: string, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { runtimes, paths, store, records } = deps;
  for (const { name } of runtimes.handlers) {
    await runtimes.handler(name)?.waitForInterruptedStart(monitoredName(paths, id), signal);
    await runtimes.handler(name)?.remove(monitoredName(paths, id), signal);
  }
  await releaseBundle(id, deps);
  if (records.damaged.includes(id)) await store.remove(id);
}

function now({ clock }: Pick<RecoverDeps, 'clock'>): bigint {
  return nanoseconds(clock.now());
}
