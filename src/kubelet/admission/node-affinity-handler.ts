import type { Pod } from '../../api/generated/core-v1.ts';
import { matchesNodeSelector } from '../../api/node-selector.ts';
import { type AdmissionView, type PodAdmitHandler, predicateFailed } from './pod-admit-handler.ts';

type LabelledNode = Pick<AdmissionView, 'nodeName' | 'labels'>;

/** Rejects pods whose node selector or required node affinity does not match; preferred affinity is ignored. */
export const nodeAffinityHandler: PodAdmitHandler = (pod, view) => {
  if (matchesNode(pod, view)) return undefined;
  return predicateFailed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
};

/** Whether the node selector and the required node affinity of the pod match the node. */
export function matchesNode({ spec }: Pod, node: LabelledNode): boolean {
  const selector = Object.entries(spec.nodeSelector ?? {});
  if (!selector.every(([key, value]) => node.labels[key] === value)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesNodeSelector(required, node);
}
