import type { Pod } from '../../api/generated/core-v1.ts';
import { matchesNodeSelector } from '../../api/node-selector.ts';
import type { AdmissionView, Predicate } from './pod-admit-handler.ts';

type LabelledNode = Pick<AdmissionView, 'nodeName' | 'labels'>;

/** Pods whose node selector or required node affinity does not match do not fit; preferred affinity is ignored. */
export const nodeAffinityPredicate: Predicate = (pod, view) => {
  if (matchesNode(pod, view)) return [];
  const description = "node(s) didn't match Pod's node affinity/selector";
  return [{ kind: 'predicate', name: 'NodeAffinity', description }];
};

/** Whether the node selector and the required node affinity of the pod match the node. */
export function matchesNode({ spec }: Pod, node: LabelledNode): boolean {
  const selector = Object.entries(spec.nodeSelector ?? {});
  if (!selector.every(([key, value]) => node.labels[key] === value)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesNodeSelector(required, node);
}
