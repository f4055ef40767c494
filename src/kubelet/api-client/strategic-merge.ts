import { keyBy, type ListStrategy, mergeList, orderLike, serverOrder } from './merge-list.ts';
import type { FieldShape } from './patch-shapes.ts';
import { BadPatchError, isMap, type PatchMap, withoutDirectives } from './patch-value.ts';

const SET_ORDER = '$setElementOrder/';
const DELETE_FROM_SET = '$deleteFromPrimitiveList/';

/**
 * Applies a strategic merge patch as the API server does. Maps are merged, and null deletes a field; lists are merged
 * or replaced according to the shape. Supports client-go's directives: `$patch` (`delete` and `replace`, in maps and in
 * elements of merged lists), `$setElementOrder/…`, `$deleteFromPrimitiveList/…` and `$retainKeys`. The arguments are
 * not modified. Throws a `BadPatchError`.
 */
export function strategicMerge(original: PatchMap, patch: PatchMap, shape: FieldShape): PatchMap {
  if ('$patch' in patch) return applyPatchDirective(patch);
  const merged = new Map(Object.entries(applyRetainKeys(original, patch)));
  const { orders, removals, values } = splitDirectives(patch);
  const fieldShape = (field: string): FieldShape => shape.fields?.[field] ?? {};

  for (const [field, value] of values) {
    if (value === null) merged.delete(field);
    else merged.set(field, mergedValue(merged.get(field), value, fieldShape(field)));
  }
  for (const [field, removed] of removals) {
    const list = merged.get(field);
    if (Array.isArray(list)) {
      merged.set(
        field,
        list.filter((item) => !removed.includes(item)),
      );
    }
  }
  for (const [field, order] of orders) {
    const list = merged.get(field);
    const { list: strategy } = fieldShape(field);
    if (!Array.isArray(list) || strategy === undefined) continue;
    const [before, patched] = [asList(original[field]), asList(values.get(field))];
    checkOrder(patched, order, strategy);
    merged.set(field, orderLike(list, order, serverOrder(before, patched, strategy), strategy));
  }
  return Object.fromEntries(merged);
}

function mergedValue(original: unknown, value: unknown, shape: FieldShape): unknown {
  if (isMap(original) && isMap(value)) return strategicMerge(original, value, shape);
  if (Array.isArray(original) && Array.isArray(value) && shape.list !== undefined) {
    const mergeElement = (left: PatchMap, right: PatchMap): PatchMap =>
      strategicMerge(left, right, { ...(shape.fields && { fields: shape.fields }) });
    return mergeList(original, value, shape.list, mergeElement);
  }
  return withoutDirectives(value);
}

function applyPatchDirective(patch: PatchMap): PatchMap {
  const { $patch: directive, ...rest } = patch;
  if (directive === 'delete') return {};
  if (directive !== 'replace') throw new BadPatchError(`unknown patch type ${JSON.stringify(directive)}`);
  const plain = withoutDirectives(rest);
  return isMap(plain) ? plain : {};
}

/** The fields that `$retainKeys` keeps; all fields without it. */
function applyRetainKeys(original: PatchMap, patch: PatchMap): PatchMap {
  const keys = patch['$retainKeys'];
  if (keys === undefined) return original;
  if (!Array.isArray(keys)) throw new BadPatchError('invalid patch format of retainKeys');
  const isUnlisted = ([field, value]: [string, unknown]): boolean =>
    value !== null && !field.startsWith('$') && !keys.includes(field);
  if (Object.entries(patch).some(isUnlisted)) throw new BadPatchError('invalid patch format of retainKeys');
  return Object.fromEntries(Object.entries(original).filter(([field]) => keys.includes(field)));
}

interface SplitPatch {
  readonly orders: readonly (readonly [field: string, order: readonly unknown[]])[];
  readonly removals: readonly (readonly [field: string, removed: readonly unknown[]])[];
  readonly values: ReadonlyMap<string, unknown>;
}

function splitDirectives(patch: PatchMap): SplitPatch {
  const directives = (prefix: string): [string, readonly unknown[]][] =>
    Object.entries(patch)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, list]) => {
        if (!Array.isArray(list)) throw new BadPatchError(`${key} is not a list`);
        return [key.slice(prefix.length), list];
      });
  return {
    orders: directives(SET_ORDER),
    removals: directives(DELETE_FROM_SET),
    values: new Map(Object.entries(patch).filter(([key]) => !key.startsWith('$'))),
  };
}

/** The patch's elements of a list must be in its `$setElementOrder`, in the same order. */
function checkOrder(list: readonly unknown[], order: readonly unknown[], strategy: ListStrategy): void {
  const keyOf = keyBy(strategy);
  const keys = order.map(keyOf);
  const kept = list.filter((item) => !(isMap(item) && '$patch' in item));
  let position = 0;
  for (const item of kept) {
    position = keys.indexOf(keyOf(item), position) + 1;
    if (position === 0) {
      throw new BadPatchError(
        `The order in patch list:\n${JSON.stringify(list)}\n doesn't match $setElementOrder list:\n${JSON.stringify(order)}\n`,
      );
    }
  }
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
