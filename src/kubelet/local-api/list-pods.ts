import { byCodePoint } from '../../base/code-point-order.ts';
import type { AgentView } from '../explain/agent-view.ts';
import type { PodList } from './local-api-types.ts';

/** Every pod with its status, ordered by namespace and name, the manifests that could not be used, and what is wrong with the node. */
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
