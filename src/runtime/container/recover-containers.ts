import { posix } from 'node:path';
import { assertNever } from '../../base/assert-never.ts';
import { textOf } from '../../base/text-of.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, idMapOf, monitoredName, runtimeOf } from './container-deps.ts';
import { configPath, mountFiles, namesIn, releaseFiles } from './container-files.ts';
import { endUnseen, nanoseconds, startFailed } from './container-life.ts';
import { settle } from './end-container.ts';
import { imageVolumesOf } from './image-volumes.ts';
import { pidOfInterruptedStart } from './interrupted-start.ts';
import { type TakeAwayDeps, takeAway } from './take-away.ts';

export type RecoverDeps = TakeAwayDeps & Pick<ContainerDeps, 'images' | 'bootId' | 'records' | 'ociCommand'>;

/** What a start has to do about a container that an earlier life of ours knew. */
export type Recovery = 'takeAway' | 'mountAgain' | 'lookAgain' | 'watch' | 'lostByRestart' | 'keep';

export function recoveryOf({ life }: ContainerRecord, bootId: string): Recovery {
  switch (life.phase) {
    case 'creating':
      return 'takeAway';
    case 'created':
      return 'mountAgain';
    case 'starting':
      return 'lookAgain';
    case 'running':
      return (life.bootId ?? bootId) === bootId ? 'watch' : 'lostByRestart';
    case 'exited':
      return 'keep';
    default:
      return assertNever(life);
  }
}

/**
 * Puts right what a crash or a restart of the machine left, all containers side by side. Nothing of one that runs is
 * touched. What fails for one container is logged, and does not keep the others from being served.
 */
export async function recoverContainers(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { ledger, log } = deps;
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
    ...[...ledger.all.values()].map((record) => each(record.id, recover(record, deps, signal))),
    ...orphans.map((id) => each(id, removeOrphan(id, deps, signal))),
  ]);
}

async function recover(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { live, bootId, clock, runtimes, paths } = deps;
  const recovery = recoveryOf(record, bootId);
  switch (recovery) {
    case 'takeAway':
      return takeAwayHalfMade(record, deps, signal);
    case 'mountAgain':
      return mountAgain(record, deps, signal);
    case 'lookAgain':
      return lookAgain(record, deps, signal);
    case 'watch':
      live.watch(record);
      return runtimeOf(runtimes, record).endExecs(monitoredName(paths, record.id));
    case 'lostByRestart': {
      const message = 'the machine was restarted while the container ran';
      return settle(record.id, endUnseen(message, nanoseconds(clock.now())), deps);
    }
    case 'keep':
      return;
    default:
      return assertNever(recovery);
  }
}

async function takeAwayHalfMade({ id }: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  try {
    await takeAway(id, deps, signal);
  } catch (error) {
    // To be seen, and removed like any other.
    await deps.ledger.change(id, startFailed(`its creation was interrupted: ${textOf(error)}`, now(deps)));
    throw error;
  }
}

async function mountAgain(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { fs, paths, images, sandboxes } = deps;
  const { id, imageId, config, sandboxId } = record;
  if ((await fs.stat(configPath(paths, id))) === undefined) {
    return settle(id, endUnseen('the machine was restarted before the container was started', now(deps)), deps);
  }
  try {
    const idMap = idMapOf(sandboxes.all.get(sandboxId));
    await mountFiles({ id, imageId, idMap, imageVolumes: imageVolumesOf(config, images) }, deps, signal);
  } catch (error) {
    signal.throwIfAborted();
    await settle(id, startFailed(`its files cannot be mounted again: ${textOf(error)}`, now(deps)), deps);
  }
}

/** Whoever was starting it never heard that it did: either it runs, or it is as if nobody had tried. */
async function lookAgain(record: ContainerRecord, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { ledger, live, events, runtimes, paths, clock, bootId } = deps;
  const { id, sandboxId } = record;
  await runtimeOf(runtimes, record).settleStart(monitoredName(paths, id), signal);
  const pid = await pidOfInterruptedStart(record, deps, signal);
  if (pid !== undefined) {
    const startedAtNs = nanoseconds(clock.now());
    const started = await ledger.change(id, { type: 'started', pid, startedAtNs, bootId });
    if (started) live.watch(started);
    events.publish({ type: ContainerEventType.CONTAINER_STARTED_EVENT, sandboxId, containerId: id });
    return;
  }
  await runtimeOf(runtimes, record).remove(monitoredName(paths, id), signal);
  const undone = await ledger.change(id, { type: 'startUndone' });
  if (undone) await mountAgain(undone, deps, signal);
}

/** Bundles, writable layers and damaged records that no record speaks of. Pause containers have their sandbox's id. */
async function orphanIds({
  fs,
  paths,
  snapshots,
  sandboxes,
  ledger,
  records,
}: RecoverDeps): Promise<readonly string[]> {
  const [bundles, layers] = await Promise.all([namesIn(fs, posix.dirname(paths.bundle('id'))), snapshots.list()]);
  const found = new Set([...bundles, ...layers, ...records.damaged]);
  return [...found].filter((id) => !ledger.all.has(id) && !sandboxes.all.has(id));
}

async function removeOrphan(id: string, deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { runtimes, paths, ledger, records } = deps;
  for (const { name } of runtimes.handlers) {
    await runtimes.handler(name)?.settleStart(monitoredName(paths, id), signal);
    await runtimes.handler(name)?.remove(monitoredName(paths, id), signal);
  }
  await releaseFiles(id, deps);
  if (records.damaged.includes(id)) await ledger.remove(id);
}

function now({ clock }: Pick<RecoverDeps, 'clock'>): bigint {
  return nanoseconds(clock.now());
}
