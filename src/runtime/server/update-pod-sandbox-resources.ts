import { UpdatePodSandboxResourcesResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Nri } from '../nri/nri.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';
import type { RecordViews } from './select-records.ts';

export interface UpdatePodDeps extends Pick<RecordViews, 'sandboxes'> {
  readonly nri: Pick<Nri, 'updatePodSandbox' | 'postUpdatePodSandbox'>;
}

/** Only notifies NRI plugins: kubelet owns the pod's cgroup and has already changed it. */
export function updatePodSandboxResources({
  sandboxes,
  nri,
}: UpdatePodDeps): RuntimeService['updatePodSandboxResources'] {
  return async ({ podSandboxId, overhead, resources }, signal) => {
    const sandbox = sandboxes.find(podSandboxId);
    if (!sandbox) throw sandboxNotFound(podSandboxId);
    await nri.updatePodSandbox(sandbox, { overhead, resources }, signal);
    await nri.postUpdatePodSandbox(sandbox, signal);
    return UpdatePodSandboxResourcesResponse.create();
  };
}
