import { admitPod } from '../kubelet/admission/admit-pod.ts';
import type { PodEvents } from '../kubelet/explain/pod-events.ts';
import type { PodStatusPublisher } from '../kubelet/sync/pod-status-publisher.ts';
import type { SyncLoopDeps } from '../kubelet/sync-loop.ts';
import type { AgentFacts } from './agent-facts.ts';

interface AdmissionVoices {
  readonly events: PodEvents;
  readonly publisher: PodStatusPublisher;
}

/** Says whether a pod may run here, and tells of one that may not as kubelet does: by an event and by its status. */
export function createAdmission(
  { node }: AgentFacts,
  { events, publisher }: AdmissionVoices,
): Pick<SyncLoopDeps, 'admit' | 'refuse'> {
  return {
    admit(pod, otherPods) {
      const verdict = admitPod(pod, { ...node, otherPods });
      if (verdict.kind === 'admit') return undefined;
      return { phase: 'Failed', reason: verdict.reason, message: verdict.message };
    },
    refuse(pod, verdict) {
      events.record(pod, 'Warning', verdict.reason, verdict.message);
      publisher.publish(pod, 'terminated', { ...verdict, message: `Pod was rejected: ${verdict.message}` });
    },
  };
}
