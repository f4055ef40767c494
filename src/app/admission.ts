import type { Node } from '../api/generated/core-v1.ts';
import { amountsOf } from '../api/pod-resources.ts';
import { admitPod } from '../kubelet/admission/admit-pod.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import type { PodStatusPublisher } from '../kubelet/sync/pod-status-publisher.ts';
import type { SyncLoopDeps } from '../kubelet/sync-loop.ts';
import type { AgentFacts, NodeFacts } from './agent-facts.ts';

export interface AdmissionParts {
  readonly events: PodEvents;
  readonly publisher: PodStatusPublisher;
  /** As the API server was last seen to have this node. */
  readonly registered: () => Node | undefined;
}

/** Says whether a pod may run here, and tells of one that may not as kubelet does: by an event and by its status. */
export function createAdmission(
  { node }: Pick<AgentFacts, 'node'>,
  { events, publisher, registered }: AdmissionParts,
): Pick<SyncLoopDeps, 'admit' | 'refuse'> {
  return {
    admit(pod, otherPods) {
      const verdict = admitPod(pod, { ...asRegistered(node, registered()), otherPods });
      if (verdict.kind === 'admit') return undefined;
      return { phase: 'Failed', reason: verdict.reason, message: verdict.message };
    },
    refuse(pod, verdict) {
      events.record(pod, 'Warning', verdict.reason, verdict.message);
      publisher.publish(pod, 'terminated', { ...verdict, message: `Pod was rejected: ${verdict.message}` });
    },
  };
}

/** What the API server says of the node counts, as it does for a scheduler. */
export function asRegistered(own: NodeFacts, registered: Node | undefined): NodeFacts {
  if (!registered) return own;
  const { metadata, status } = registered;
  const labelled = { ...own, labels: metadata.labels ?? {} };
  if (!status?.allocatable) return labelled;
  const allocatable = amountsOf(status.allocatable);
  const maxPods = allocatable.get('pods')?.value();
  return { ...labelled, allocatable, ...(maxPods !== undefined && { maxPods: Number(maxPods) }) };
}
