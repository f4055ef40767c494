import type { RuntimeService } from '../../cri/services.ts';
import { asCriError } from '../container/container-errors.ts';
import { type DeleteDeps, deleteContainer } from '../container/delete-container.ts';

/** Kills a running container first. An unknown container counts as removed. */
export function removeContainer(deps: DeleteDeps): RuntimeService['removeContainer'] {
  return async ({ containerId }, signal) => {
    const record = deps.store.find(containerId);
    if (!record) return {};
    try {
      await deleteContainer(record.id, deps, signal);
    } catch (error) {
      throw asCriError('cannot remove container', error, signal);
    }
    return {};
  };
}
