import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../../api/generated/core-v1.ts';
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
  return !required || (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

/** A term without requirements matches no node. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: LabelledNode): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const fields: Readonly<Record<string, string>> = { 'metadata.name': node.nodeName };
  return (
    matchExpressions.every((requirement) => meets(requirement, node.labels)) &&
    matchFields.every((requirement) => meets(requirement, fields))
  );
}

function meets(
  { key, operator, values = [] }: NodeSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compareIntegers(value, values[0], (a, b) => a > b);
    case 'Lt':
      return compareIntegers(value, values[0], (a, b) => a < b);
    default:
      return false;
  }
}

function compareIntegers(
  a: string | undefined,
  b: string | undefined,
  compare: (a: bigint, b: bigint) => boolean,
): boolean {
  const isInteger = (text: string | undefined): text is string => /^-?\d+$/.test(text ?? '');
  return isInteger(a) && isInteger(b) && compare(BigInt(a), BigInt(b));
}
