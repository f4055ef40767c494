import { abortable } from '../../base/abortable.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import { type ContainerDeps, monitoredName, runtimeOf } from './container-deps.ts';
import { releaseFiles } from './container-files.ts';
import { type EndDeps, killContainer } from './end-container.ts';
import { tellPlugins } from './tell-plugins.ts';

export type TakeAwayDeps = EndDeps & Pick<ContainerDeps, 'fs' | 'snapshots' | 'nri' | 'events' | 'log' | 'sandboxes'>;

/**
 * Takes a container away, whatever it is doing. Safe to repeat: the record goes last, and what is not there is fine. The
 * log file stays, it is kubelet's.
 */
export function takeAway(id: string, deps: TakeAwayDeps, signal: AbortSignal): Promise<void> {
  return deps.ledger.turn(id, () => takeAwayInTurn(id, deps, signal));
}

async function takeAwayInTurn(id: string, deps: TakeAwayDeps, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { ledger, live: allLive, runtimes, paths, events, sandboxes, nri, log } = deps;
  const record = ledger.all.get(id);
  if (record === undefined) return;
  const live = allLive.get(id) ?? (record.life.phase === 'running' ? allLive.watch(record) : undefined);
  if (live) {
    if (record.life.phase === 'running') await killContainer(record, live, deps, signal);
    await abortable(live.settled, signal); // it tidies up by itself
  }
  const sandbox = sandboxes.all.get(record.sandboxId);
  const last = ledger.all.get(id);
  if (sandbox && last?.spec) await tellPlugins('removed', id, log, () => nri.removeContainer(sandbox, last, signal));
  if (!allLive.takeForgotten(id)) await runtimeOf(runtimes, record).remove(monitoredName(paths, id), signal);
  await releaseFiles(id, deps);
  await ledger.remove(id);
  if (record.life.phase === 'creating') return;
  events.publish({
    type: ContainerEventType.CONTAINER_DELETED_EVENT,
    sandboxId: record.sandboxId,
    containerId: id,
  });
}
