import { byCodePoint } from '../../base/code-point-order.ts';
import type { AgentView, PodReport } from './agent-view.ts';
import { ApiError } from './api-error.ts';
import { manifestName } from './manifest-name.ts';

/** How a user names a pod. Without a namespace every namespace is looked at. */
export interface PodReference {
  /** The pod's own name, or that of its manifest. */
  readonly name: string;
  readonly namespace: string | undefined;
}

/** The one pod that is meant; throws an `ApiError` when there is none, or more than one. */
export function findPod(view: Pick<AgentView, 'pods' | 'nodeName'>, { name, namespace }: PodReference): PodReport {
  const reports = view.pods().filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace);
  const exact = reports.filter(({ pod }) => pod.metadata.name === name);
  const matches = exact.length > 0 ? exact : reports.filter(({ pod }) => manifestName(pod, view.nodeName) === name);
  const newest = newestOfEach(matches);
  const [only, ...others] = newest;
  if (only === undefined) throw new ApiError('NotFound', `pods "${name}" not found`);
  if (others.length > 0) {
    const names = newest.map(({ pod }) => `${pod.metadata.namespace}/${pod.metadata.name}`).sort(byCodePoint);
    throw new ApiError('Conflict', `more than one pod is called "${name}": ${names.join(', ')}`);
  }
  return only;
}

/** While a pod is replaced, the old one is still ending when the new one is there already. */
function newestOfEach(reports: readonly PodReport[]): PodReport[] {
  const byName = new Map<string, PodReport>();
  for (const report of reports) {
    const key = `${report.pod.metadata.namespace}/${report.pod.metadata.name}`;
    const other = byName.get(key);
    if (other === undefined || liveness(report) > liveness(other)) byName.set(key, report);
  }
  return [...byName.values()];
}

function liveness({ worker }: PodReport): number {
  return ['finished', 'terminated', 'terminating', 'waiting', 'syncing'].indexOf(worker);
}
