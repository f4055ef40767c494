import { isDeepStrictEqual } from 'node:util';
import type { FieldShape } from './patch-shapes.ts';
import { isMap, type PatchMap } from './patch-value.ts';

/**
 * The strategic merge patch from `before` to `after`, with client-go's directives; empty if they are the same. It
 * contains only differences, so changes of other writers are kept.
 */
export function strategicDiff(before: PatchMap, after: PatchMap, shape: FieldShape): PatchMap {
  const patch = new Map<string, unknown>();
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[field], after[field]];
    const fieldShape = shape.fields?.[field] ?? {};
    const isKept = fieldShape.keepsEmpty === true && isMap(is);
    if (isSame(was, is) && !(isKept && was === undefined)) continue;
    if (isAbsent(is) && !isKept) {
      patch.set(field, null);
    } else if (isMap(was) && isMap(is)) {
      patch.set(field, strategicDiff(was, is, fieldShape));
    } else if (Array.isArray(was) && Array.isArray(is) && isMerged(fieldShape)) {
      for (const [key, value] of mergedListDiff(field, was, is, fieldShape)) patch.set(key, value);
    } else {
      patch.set(field, is);
    }
  }
  return Object.fromEntries(patch);
}

/** Whether two values are equal to the API, where empty and absent are the same. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(withoutEmpty(a), withoutEmpty(b));
}

type MergedShape = FieldShape & { readonly list: { readonly mergeBy: string } };

function isMerged(shape: FieldShape): shape is MergedShape {
  return typeof shape.list === 'object';
}

function* mergedListDiff(
  field: string,
  before: readonly unknown[],
  after: readonly unknown[],
  { list: { mergeBy }, fields }: MergedShape,
): Generator<[string, unknown]> {
  const keyOf = (item: unknown): unknown => (isMap(item) ? item[mergeBy] : undefined);
  const changed = after.flatMap((item) => {
    const was = before.find((candidate) => keyOf(candidate) === keyOf(item));
    if (!isMap(was) || !isMap(item)) return [item];
    return isSame(was, item)
      ? []
      : [{ ...strategicDiff(was, item, { ...(fields && { fields }) }), [mergeBy]: keyOf(item) }];
  });
  const kept = after.map(keyOf);
  const deleted = before
    .filter((item) => !kept.includes(keyOf(item)))
    .map((item) => ({ $patch: 'delete', [mergeBy]: keyOf(item) }));
  yield [`$setElementOrder/${field}`, after.map((item) => ({ [mergeBy]: keyOf(item) }))];
  if (changed.length + deleted.length > 0) yield [field, [...changed, ...deleted]];
}

function isAbsent(value: unknown): boolean {
  return withoutEmpty(value) === undefined;
}

function withoutEmpty(value: unknown): unknown {
  if (value === null || value === '') return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutEmpty);
  if (!isMap(value)) return value;
  const entries = Object.entries(value)
    .map(([key, part]) => [key, withoutEmpty(part)] as const)
    .filter(([, part]) => part !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
