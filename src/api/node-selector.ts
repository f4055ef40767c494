import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from './generated/core-v1.ts';

/** What a node selector can match. */
export interface SelectableNode {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Whether one of the terms matches the node. */
export function matchesNodeSelector({ nodeSelectorTerms = [] }: NodeSelector, node: SelectableNode): boolean {
  return nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** A term without requirements matches no node. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: SelectableNode): boolean {
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
