import type { LabelSelector } from './generated/core-v1.ts';

/** A label selector with an unknown operator. The message is that of the API machinery. */
export class LabelSelectorError extends Error {
  override readonly name = 'LabelSelectorError';
}

type Labels = Readonly<Record<string, string>>;

/** A label selector as the API machinery evaluates and prints it. */
export interface ParsedSelector {
  matches(labels: Labels): boolean;
  /** `app=web,tier in (a,b),!old` */
  readonly text: string;
}

interface Requirement extends ParsedSelector {
  readonly key: string;
}

/** Matches nothing if the selector is absent, and everything if it is empty. Throws a `LabelSelectorError`. */
export function parseLabelSelector(selector: LabelSelector | undefined): ParsedSelector {
  if (selector === undefined) return { matches: () => false, text: '' };
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const requirements = [
    ...Object.entries(matchLabels).map(([key, value]) => equals(key, value)),
    ...matchExpressions.map(({ key, operator, values = [] }) => requirement(key, operator, values)),
  ];
  const sorted = requirements.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  return {
    matches: (labels) => sorted.every((each) => each.matches(labels)),
    text: sorted.map(({ text }) => text).join(','),
  };
}

function requirement(key: string, operator: string, values: readonly string[]): Requirement {
  const has = (labels: Labels): boolean => Object.hasOwn(labels, key);
  const hasOneOf = (labels: Labels): boolean => has(labels) && values.includes(labels[key] ?? '');
  const set = `(${values.toSorted().join(',')})`;
  switch (operator) {
    case 'In':
      return { key, matches: hasOneOf, text: `${key} in ${set}` };
    case 'NotIn':
      return { key, matches: (labels) => !hasOneOf(labels), text: `${key} notin ${set}` };
    case 'Exists':
      return { key, matches: has, text: key };
    case 'DoesNotExist':
      return { key, matches: (labels) => !has(labels), text: `!${key}` };
    default:
      throw new LabelSelectorError(`${JSON.stringify(operator)} is not a valid label selector operator`);
  }
}

function equals(key: string, value: string): Requirement {
  return { key, matches: (labels) => Object.hasOwn(labels, key) && labels[key] === value, text: `${key}=${value}` };
}
