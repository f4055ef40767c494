import { abortable } from '../../base/abortable.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import { type ContainerDeps, monitoredName } from './container-deps.ts';
import { releaseBundle } from './container-files.ts';
import { notifyPlugins } from './notify-plugins.ts';
import { killContainer, type TerminateDeps } from './terminate-container.ts';

export type DeleteDeps = TerminateDeps &
  Pick<ContainerDeps, 'fs' | 'snapshots' | 'nri' | 'events' | 'log' | 'sandboxes'>;

/**
 * Deletes a container in any state: kills it, releases its bundle, removes its record. Idempotent: the record goes last.
 * The log file stays; kubelet removes it.
 */
export function deleteContainer(id: string, deps: DeleteDeps, signal: AbortSignal): Promise<void> {
  return deps.store.withLock(id, () => deleteLocked(id, deps, signal));
}

async function deleteLocked(id: string, deps: DeleteDeps, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { store, exitWatcher, runtimes, paths, events, sandboxes, nri, log } = deps;
  const record = store.all.get(id);
  if (record === undefined) return;
  const watched = exitWatcher.get(id) ?? (record.state.phase === 'running' ? exitWatcher.watch(record) : undefined);
  if (watched) {
    if (record.state.phase === 'running') await killContainer(record, watched, deps, signal);
    await abortable(watched.settled, signal); // the watcher deletes it from the OCI runtime
  }
  const sandbox = sandboxes.all.get(record.sandboxId);
  const last = store.all.get(id);
  if (sandbox && last?.spec) await notifyPlugins('removed', id, log, () => nri.removeContainer(sandbox, last, signal));
  if (!exitWatcher.takeDeletedFromRuntime(id))
    await runtimeForRecord(runtimes, record).remove(monitoredName(paths, id), signal);
  await releaseBundle(id, deps);
  await store.remove(id);
  if (record.state.phase === 'creating') return;
  events.publish({
    type: ContainerEventType.CONTAINER_DELETED_EVENT,
    sandboxId: record.sandboxId,
    containerId: id,
  });
}
