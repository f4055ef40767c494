import type { RuntimeService } from '../../cri/services.ts';
import { type StopDeps, stopSandbox } from '../sandbox/stop-sandbox.ts';

/** An unknown sandbox counts as stopped, as in containerd 2. */
export function stopPodSandbox(deps: StopDeps): RuntimeService['stopPodSandbox'] {
  return async ({ podSandboxId }, signal) => {
    const id = deps.store.find(podSandboxId)?.id;
    if (id !== undefined) await deps.store.withLock(id, () => stopSandbox(id, deps, signal));
    return {};
  };
}
