import { posix } from 'node:path';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, idMapForSandbox, monitoredName, runtimeForContainer } from './container-deps.ts';
import { bundleConfigPath, mountBundle, listNames, releaseBundle } from './container-files.ts';
import { unknownExit, nanoseconds, failedStart } from './container-state.ts';
import { recordExit } from './terminate-container.ts';
import { resolveImageVolumes } from './image-volumes.ts';
import { pidOfInterruptedStart } from './interrupted-start.ts';
import { type DeleteDeps, deleteContainer } from './delete-container.ts';

export type RecoverDeps = DeleteDeps & Pick<ContainerDeps, 'images' | 'bootId' | 'records' | 'ociCommand'>;

/** What a start has to do about a container that an earlier life of ours knew. */
export type ContainerRecovery = 'takeAway' | 'mountAgain' | 'lookAgain' | 'watch' | 'lostByRestart' | 'keep';

export function decideContainerRecovery({ state }: ContainerRecord, bootId: string): ContainerRecovery {
  switch (state.phase) {
    case 'creating':
      return 'takeAway';
    case 'created':
      return 'mountAgain';
    case 'starting':
      return 'lookAgain';
    case 'running':
      return (state.bootId ?? bootId) === bootId ? 'watch' : 'lostByRestart';
    case 'exited':
      return 'keep';
    default:
      return assertNever(state);
  }
}

/**
 * Puts right what a crash or a restart of the machine left, all containers side by side. Nothing of one that runs is
 * touched. What fails for one container is logged, and does not keep the others from being served.
 */
export async function recoverContainers(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, log } = deps;
  const orphans = await orphanIds(deps);
  const each = async (id: string, work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      signal.throwIfAborted();
      log.error('cannot put a container right', { containerId: id, error });
    }
  };
  await Promise.all([
    ...[...store.all.values()].map((record) => each(record.id, recover(record, deps, signal))),
    ...orphans.map((id) => each(id, removeOrphan(id, deps, signal))),
  ]);
}

async function recover(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { live, bootId, clock, runtimes, paths } = deps;
  const recovery = decideContainerRecovery(record, bootId);
  switch (recovery) {
    case 'takeAway':
      return deleteInterrupted(record, deps, signal);
    case 'mountAgain':
      return remount(record, deps, signal);
    case 'lookAgain':
      return resolveInterruptedStart(record, deps, signal);
    case 'watch':
      live.watch(record);
      return runtimeForContainer(runtimes, record).endExecs(monitoredName(paths, record.id));
    case 'lostByRestart': {
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
    // To be seen, and removed like any other.
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

/** Whoever was starting it never heard that it did: either it runs, or it is as if nobody had tried. */
async function resolveInterruptedStart(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, live, events, runtimes, paths, clock, bootId } = deps;
  const { id, sandboxId } = record;
  await runtimeForContainer(runtimes, record).settleStart(monitoredName(paths, id), signal);
  const pid = await pidOfInterruptedStart(record, deps, signal);
  if (pid !== undefined) {
    const startedAtNs = nanoseconds(clock.now());
    const started = await store.applyEvent(id, { type: 'started', pid, startedAtNs, bootId });
    if (started) live.watch(started);
    events.publish({ type: ContainerEventType.CONTAINER_STARTED_EVENT, sandboxId, containerId: id });
    return;
  }
  await runtimeForContainer(runtimes, record).remove(monitoredName(paths, id), signal);
  const undone = await store.applyEvent(id, { type: 'startUndone' });
  if (undone) await remount(undone, deps, signal);
}

/** Bundles, writable layers and damaged records that no record speaks of. Pause containers have their sandbox's id. */
async function orphanIds({
  fs,
  paths,
  snapshots,
  sandboxes,
  store,
  records,
}: RecoverDeps): Promise<readonly string[]> {
  const [bundles, layers] = await Promise.all([listNames(fs, posix.dirname(paths.bundle('id'))), snapshots.list()]);
  const found = new Set([...bundles, ...layers, ...records.damaged]);
  return [...found].filter((id) => !store.all.has(id) && !sandboxes.all.has(id));
}

async function removeOrphan(id: string, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { runtimes, paths, store, records } = deps;
  for (const { name } of runtimes.handlers) {
    await runtimes.handler(name)?.settleStart(monitoredName(paths, id), signal);
    await runtimes.handler(name)?.remove(monitoredName(paths, id), signal);
  }
  await releaseBundle(id, deps);
  if (records.damaged.includes(id)) await store.remove(id);
}

function now({ clock }: Pick<RecoverDeps, 'clock'>): bigint {
  return nanoseconds(clock.now());
}
