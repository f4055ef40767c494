import type { FieldShape } from './patch-shapes.ts';
import { BadPatchError, isMap, type PatchMap, withoutDirectives } from './patch-value.ts';

/** How the elements of a merged list are identified. */
export type ListStrategy = NonNullable<FieldShape['list']>;
type MergeElement = (original: PatchMap, patch: PatchMap) => PatchMap;

/** The list with the patch's elements merged, added or removed. */
export function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  strategy: ListStrategy,
  mergeElement: MergeElement,
): readonly unknown[] {
  if (strategy === 'set') return orderLike([...new Set([...original, ...patch])], patch, original, strategy);
  const { mergeBy } = strategy;
  const elements = patch.map((element) => keyedElement(element, mergeBy));
  const plain = elements.filter((element) => !('$patch' in element));
  if (elements.some(({ $patch }) => $patch === 'replace')) return plain.map(withoutDirectives);

  const deleted = elements.filter(({ $patch }) => $patch === 'delete').map((element) => element[mergeBy]);
  const kept = original.filter((item) => !(isMap(item) && deleted.includes(item[mergeBy])));
  const merged = [...kept];
  for (const element of plain) {
    const at = merged.findIndex((item) => isMap(item) && item[mergeBy] === element[mergeBy]);
    const counterpart = merged[at];
    if (isMap(counterpart)) merged[at] = mergeElement(counterpart, element);
    else merged.push(withoutDirectives(element));
  }
  return orderLike(merged, plain, kept, strategy);
}

/**
 * Elements of `order` come in that order. The others keep the server's order, each before those elements of `order`
 * that it preceded.
 */
export function orderLike(
  list: readonly unknown[],
  order: readonly unknown[],
  serverOrder: readonly unknown[],
  strategy: ListStrategy,
): readonly unknown[] {
  const keyOf = keyBy(strategy);
  const [keys, serverKeys] = [order.map(keyOf), serverOrder.map(keyOf)];
  const serverPosition = (item: unknown): number => serverKeys.indexOf(keyOf(item));
  const ordered = list
    .filter((item) => keys.includes(keyOf(item)))
    .toSorted((left, right) => keys.indexOf(keyOf(left)) - keys.indexOf(keyOf(right)));
  const others = list
    .filter((item) => !keys.includes(keyOf(item)))
    .toSorted((left, right) => serverPosition(left) - serverPosition(right));

  const result: unknown[] = [];
  for (const item of ordered) {
    // Elements that are new to the server go first.
    while (
      others.length > 0 &&
      serverPosition(item) >= 0 &&
      serverPosition(others[0]) >= 0 &&
      serverPosition(others[0]) < serverPosition(item)
    ) {
      result.push(others.shift());
    }
    result.push(item);
  }
  return [...result, ...others];
}

/**
 * The server's order while a patch with `$setElementOrder` is merged: new elements fill the positions of deleted ones,
 * so they count as known to the server.
 */
export function serverOrder(
  original: readonly unknown[],
  patch: readonly unknown[],
  strategy: ListStrategy,
): readonly unknown[] {
  const keyOf = keyBy(strategy);
  const isDirective = (item: unknown): boolean => isMap(item) && '$patch' in item;
  const deleted = patch.filter(isDirective).map(keyOf);
  const kept = original.filter((item) => !deleted.includes(keyOf(item)));
  const known = kept.map(keyOf);
  const added = patch.filter((item) => !isDirective(item) && !known.includes(keyOf(item)));
  return [...kept, ...added].slice(0, original.length);
}

/** The function that identifies elements of a merged list. */
export function keyBy(strategy: ListStrategy): (item: unknown) => unknown {
  return (item) => (strategy !== 'set' && isMap(item) ? item[strategy.mergeBy] : item);
}

function keyedElement(element: unknown, mergeBy: string): PatchMap {
  if (!isMap(element)) throw new BadPatchError(`cannot merge ${JSON.stringify(element)} into a list of objects`);
  const { $patch: directive } = element;
  if (directive !== undefined && directive !== 'delete' && directive !== 'replace') {
    throw new BadPatchError(`unknown patch type ${JSON.stringify(directive)}`);
  }
  if (directive !== 'replace' && element[mergeBy] === undefined) {
    throw new BadPatchError(`map: ${JSON.stringify(element)} does not contain declared merge key: ${mergeBy}`);
  }
  return element;
}
