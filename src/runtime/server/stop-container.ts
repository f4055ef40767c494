import type { RuntimeService } from '../../cri/services.ts';
import { asCriError } from '../container/container-errors.ts';
import { type TerminateDeps, terminateContainer } from '../container/terminate-container.ts';

/** An unknown container counts as stopped, as in containerd. */
export function stopContainer(deps: TerminateDeps): RuntimeService['stopContainer'] {
  return async ({ containerId, timeout }, signal) => {
    const record = deps.store.find(containerId);
    if (!record) return {};
    try {
      await terminateContainer(record.id, Number(timeout) * 1000, deps, signal);
    } catch (error) {
      throw asCriError('cannot stop container', error, signal);
    }
    return {};
  };
}
