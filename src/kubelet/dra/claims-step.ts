import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { Timeline } from '../events/timeline.ts';
import { PodError } from '../pod/pod-error.ts';
import type { PodStep } from '../pod/pod-step.ts';
import type { DraManager } from './dra-manager.ts';

export interface ClaimsStepDeps {
  readonly manager: DraManager;
  readonly timeline: Pick<Timeline, 'during'>;
  /** Whether the pod has a sandbox that is ready. */
  readonly hasSandbox: (uid: string) => boolean;
  /** The end of the pod can be reported now. */
  readonly onUnprepared: (pod: Pod) => void;
}

/**
 * Prepares the resource claims of a pod before its sandbox is created, and unprepares them after its containers have
 * stopped: the last step of a starting pod, and the first one that a stopped pod releases. As in kubelet, the claims of a
 * pod that has a sandbox already are not prepared again.
 */
export function claimsStep({ manager, timeline, hasSandbox, onUnprepared }: ClaimsStepDeps): PodStep {
  return {
    async prepare(pod, signal) {
      if (!usesClaims(pod)) return;
      const { uid } = pod.metadata;
      if (hasSandbox(uid) && manager.hasClaims(pod)) return;
      try {
        await timeline.during(uid, 'resource claims', undefined, () => manager.prepare(pod, signal));
      } catch (error) {
        signal.throwIfAborted();
        const message = `Failed to prepare dynamic resources: ${errorText(error)}`;
        throw new PodError('FailedPrepareDynamicResources', message, { cause: error });
      }
    },
    async release(pod, signal) {
      const { uid } = pod.metadata;
      if (!manager.mightNeedUnprepare(uid)) return;
      await manager.unprepare(uid, signal);
      onUnprepared(pod);
    },
  };
}

function usesClaims({ spec, status }: Pod): boolean {
  return (spec.resourceClaims ?? []).length > 0 || status?.extendedResourceClaimStatus !== undefined;
}
