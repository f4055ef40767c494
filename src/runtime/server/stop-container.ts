import type { RuntimeService } from '../../cri/services.ts';
import { failureOf } from '../container/container-failure.ts';
import { type EndDeps, endContainer } from '../container/end-container.ts';

/** A container that nobody knows is stopped, as in containerd. */
export function stopContainer(deps: EndDeps): RuntimeService['stopContainer'] {
  return async ({ containerId, timeout }, signal) => {
    const record = deps.ledger.find(containerId);
    if (!record) return {};
    try {
      await endContainer(record.id, Number(timeout) * 1000, deps, signal);
    } catch (error) {
      throw failureOf('cannot stop container', error, signal);
    }
    return {};
  };
}
