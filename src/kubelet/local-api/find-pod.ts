import type { Pod } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { manifestName } from '../pod/manifest-name.ts';
import { ApiError } from './api-error.ts';

/** A pod as the user names it. Without a namespace all namespaces are searched. */
export interface PodReference {
  /** The pod's own name, or that of its manifest. */
  readonly name: string;
  readonly namespace: string | undefined;
}

type PodsOfAgent = Pick<AgentView, 'pods' | 'manuallyStopped' | 'nodeName'>;

/** Finds the referenced pod; throws an `ApiError` when no pod matches, or more than one. */
export function findPod(view: PodsOfAgent, reference: PodReference): PodReport {
  const { name } = reference;
  const named = view.pods().filter(({ pod }) => isMeant(pod, reference, view));
  const exact = named.filter(({ pod }) => pod.metadata.name === name);
  const newest = newestOfEach(exact.length > 0 ? exact : named);
  const [only, ...others] = newest;
  if (only === undefined) {
    const why = isManuallyStopped(view, reference) ? ': it was stopped, and comes back when its manifest changes' : '';
    throw new ApiError('NotFound', `pods "${name}" not found${why}`);
  }
  if (others.length > 0) {
    const names = newest.map(({ pod }) => `${pod.metadata.namespace}/${pod.metadata.name}`).sort(byCodePoint);
    throw new ApiError('Conflict', `more than one pod is called "${name}": ${names.join(', ')}`);
  }
  return only;
}

/** Whether the pod is desired, and was stopped manually. */
export function isManuallyStopped(view: PodsOfAgent, reference: PodReference): boolean {
  return view.manuallyStopped().some((pod) => isMeant(pod, reference, view));
}

function isMeant(pod: Pod, { name, namespace }: PodReference, { nodeName }: Pick<AgentView, 'nodeName'>): boolean {
  const isInNamespace = namespace === undefined || pod.metadata.namespace === namespace;
  return isInNamespace && (pod.metadata.name === name || manifestName(pod, nodeName) === name);
}

/** While a pod is replaced, the old one may still be ending when the new one exists. */
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
