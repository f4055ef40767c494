/** In adjustments a key that begins with `-` requests the removal of the rest of the key. */
export function withoutMarker(key: string): { readonly key: string; readonly isRemoval: boolean } {
  return key.startsWith('-') ? { key: key.slice(1), isRemoval: true } : { key, isRemoval: false };
}

/** The change of one key. */
export interface KeyedChange<T> {
  readonly key: string;
  /** Absent: the key is removed. */
  readonly item?: T;
}

/**
 * Each key occurs at most once in the result: changed in its place, new ones at the end. A key that is both removed and
 * set is set.
 */
export function adjustKeyed<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  changes: readonly KeyedChange<T>[],
): readonly T[] {
  if (changes.length === 0) return items;
  const touched = new Set(changes.map(({ key }) => key));
  const added = new Map(changes.flatMap(({ key, item }) => (item === undefined ? [] : [[key, item] as const])));
  const kept = items.flatMap((item) => {
    const key = keyOf(item);
    if (!touched.has(key)) return [item];
    const next = added.get(key);
    added.delete(key);
    return next === undefined ? [] : [next];
  });
  return [...kept, ...added.values()];
}

/** Returns the changes of a list whose keys may be marked for removal. */
export function markedChanges<A, T>(
  requested: readonly A[],
  keyOf: (requested: A) => string,
  convert: (requested: A) => T,
): readonly KeyedChange<T>[] {
  return requested.map((each) => {
    const { key, isRemoval } = withoutMarker(keyOf(each));
    return isRemoval ? { key } : { key, item: convert(each) };
  });
}

export function adjustMap(
  map: Readonly<Record<string, string>>,
  requested: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  type Entry = readonly [string, string];
  const changes = markedChanges<Entry, Entry>(
    Object.entries(requested),
    ([key]) => key,
    (entry) => entry,
  );
  return Object.fromEntries(adjustKeyed<Entry>(Object.entries(map), ([key]) => key, changes));
}
