import { byCodePoint } from '../../base/code-point-order.ts';
import type { AgentView } from '../explain/agent-view.ts';
import type { PodList } from './local-api-types.ts';

/** All pods with their status, ordered by namespace and name, and the errors of manifests and of the node. */
export async function listPods(view: AgentView, namespace: string | undefined): Promise<PodList> {
  const pods = view
    .pods()
    .filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace)
    .map(({ pod, status, worker, steps, events }) => ({ pod: { ...pod, status }, worker, steps, events }))
    .sort((a, b) => {
      const [left, right] = [a.pod.metadata, b.pod.metadata];
      return byCodePoint(left.namespace, right.namespace) || byCodePoint(left.name, right.name);
    });
  return { nodeName: view.nodeName, pods, manifests: view.manifests(), nodeErrors: await view.nodeErrors() };
}
