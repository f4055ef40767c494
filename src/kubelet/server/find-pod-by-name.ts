import type { AgentView, PodReport } from '../explain/agent-view.ts';

const ORDER = ['finished', 'terminated', 'terminating', 'waiting', 'syncing'];

/** While a pod is replaced two pods have its name: the one that is further from its end is returned. */
export function findPodByName(view: Pick<AgentView, 'pods'>, namespace: string, name: string): PodReport | undefined {
  const hasName = ({ pod }: PodReport) => pod.metadata.namespace === namespace && pod.metadata.name === name;
  return view
    .pods()
    .filter(hasName)
    .toSorted((a, b) => ORDER.indexOf(b.worker) - ORDER.indexOf(a.worker))[0];
}
