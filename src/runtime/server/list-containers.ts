import type { RuntimeService } from '../../cri/services.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import type { ContainerLedger } from '../container/container-ledger.ts';
import { containerMessage, matchesFilter } from '../container/container-messages.ts';

export type ListDeps = Pick<ContainerDeps, 'sandboxes'> & { readonly ledger: ContainerLedger };

export function listContainers({ ledger, sandboxes }: ListDeps): RuntimeService['listContainers'] {
  return async ({ filter }) => {
    const fullId = {
      container: ledger.find(filter?.id ?? '')?.id ?? '',
      sandbox: sandboxes.find(filter?.podSandboxId ?? '')?.id ?? filter?.podSandboxId ?? '',
    };
    const containers = [...ledger.all.values()]
      .filter((record) => record.life.phase !== 'creating' && matchesFilter(record, filter, fullId))
      .map(containerMessage);
    return { containers };
  };
}
