import { byCodePoint } from '../../src/base/code-point-order.ts';

/** Each value by its path. List items are keyed by their type where they have one. */
function leaves(value: unknown, path = ''): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const entries = Array.isArray(value)
    ? value.map((item: unknown, index) => [keyOf(item) ?? String(index), item] as const)
    : Object.entries(value);
  return entries.flatMap(([key, item]) => leaves(item, path === '' ? key : `${path}.${key}`));
}

function keyOf(item: unknown): string | undefined {
  return typeof item === 'object' && item !== null && 'type' in item ? String(item.type) : undefined;
}

/** The paths of all values that differ between two objects. */
export function differences(ours: unknown, recorded: unknown): readonly string[] {
  const [a, b] = [new Map(leaves(ours)), new Map(leaves(recorded))];
  return [...new Set([...a.keys(), ...b.keys()])].filter((path) => a.get(path) !== b.get(path)).sort(byCodePoint);
}
