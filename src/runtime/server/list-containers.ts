import type { RuntimeService } from '../../cri/services.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import { containerMessage, matchesFilter } from '../container/container-messages.ts';
import type { ContainerStore } from '../container/container-store.ts';

export type ListDeps = Pick<ContainerDeps, 'sandboxes'> & { readonly store: ContainerStore };

export function listContainers({ store, sandboxes }: ListDeps): RuntimeService['listContainers'] {
  return async ({ filter }) => {
    const fullId = {
      container: store.find(filter?.id ?? '')?.id ?? '',
      sandbox: sandboxes.find(filter?.podSandboxId ?? '')?.id ?? filter?.podSandboxId ?? '',
    };
    const containers = [...store.all.values()]
      .filter((record) => record.state.phase !== 'creating' && matchesFilter(record, filter, fullId))
      .map(containerMessage);
    return { containers };
  };
}
