import { CriError } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { type ContainerDeps, monitoredName } from '../container/container-deps.ts';
import { asCriError, containerNotFound } from '../container/container-errors.ts';
import type { ContainerStore } from '../container/container-store.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';

export type ReopenDeps = Pick<ContainerDeps, 'paths' | 'runtimes'> & { readonly store: ContainerStore };

export function reopenContainerLog({ store, paths, runtimes }: ReopenDeps): RuntimeService['reopenContainerLog'] {
  return async ({ containerId }, signal) => {
    const record = store.find(containerId);
    if (!record) throw containerNotFound(containerId);
    if (record.state.phase !== 'running') throw new CriError('FailedPrecondition', 'container is not running');
    if (record.logPath === '') return {};
    try {
      await runtimeForRecord(runtimes, record).reopenLog(monitoredName(paths, record.id), signal);
    } catch (error) {
      throw asCriError('cannot reopen the log of the container', error, signal);
    }
    return {};
  };
}
