import type { RuntimeService } from '../../cri/services.ts';
import { removeSandbox, type StopDeps } from '../sandbox/stop-sandbox.ts';

/** Stops a ready sandbox first, and removes its containers. */
export function removePodSandbox(deps: StopDeps): RuntimeService['removePodSandbox'] {
  return async ({ podSandboxId }, signal) => {
    const id = deps.store.find(podSandboxId)?.id;
    if (id !== undefined) await deps.store.withLock(id, () => removeSandbox(id, deps, signal));
    return {};
  };
}
