import { CriError } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { type ContainerDeps, monitoredName, runtimeOf } from '../container/container-deps.ts';
import { containerNotFound, failureOf } from '../container/container-failure.ts';
import type { ContainerLedger } from '../container/container-ledger.ts';

export type ReopenDeps = Pick<ContainerDeps, 'paths' | 'runtimes'> & { readonly ledger: ContainerLedger };

export function reopenContainerLog({ ledger, paths, runtimes }: ReopenDeps): RuntimeService['reopenContainerLog'] {
  return async ({ containerId }, signal) => {
    const record = ledger.find(containerId);
    if (!record) throw containerNotFound(containerId);
    if (record.life.phase !== 'running') throw new CriError('FailedPrecondition', 'container is not running');
    if (record.logPath === '') return {};
    try {
      await runtimeOf(runtimes, record).reopenLog(monitoredName(paths, record.id), signal);
    } catch (error) {
      throw failureOf('cannot reopen the log of the container', error, signal);
    }
    return {};
  };
}
