/** In adjustments a key that begins with `-` asks for the removal of what has the rest as its key. */
export function withoutMarker(key: string): { readonly key: string; readonly isRemoval: boolean } {
  return key.startsWith('-') ? { key: key.slice(1), isRemoval: true } : { key, isRemoval: false };
}

/** What becomes of one key. */
export interface KeyedChange<T> {
  readonly key: string;
  /** Absent: it goes. */
  readonly item?: T;
}

/** Each key at most once in the result: changed in its place, new ones at the end. Who removes and sets a key, sets it. */
export function adjustKeyed<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  changes: readonly KeyedChange<T>[],
): readonly T[] {
  if (changes.length === 0) return items;
  const touched = new Set(changes.map(({ key }) => key));
  const wanted = new Map(changes.flatMap(({ key, item }) => (item === undefined ? [] : [[key, item] as const])));
  const kept = items.flatMap((item) => {
    const key = keyOf(item);
    if (!touched.has(key)) return [item];
    const next = wanted.get(key);
    wanted.delete(key);
    return next === undefined ? [] : [next];
  });
  return [...kept, ...wanted.values()];
}

/** The changes of a list whose keys may be marked. */
export function markedChanges<A, T>(
  asked: readonly A[],
  keyOf: (asked: A) => string,
  convert: (asked: A) => T,
): readonly KeyedChange<T>[] {
  return asked.map((each) => {
    const { key, isRemoval } = withoutMarker(keyOf(each));
    return isRemoval ? { key } : { key, item: convert(each) };
  });
}

export function adjustMap(
  map: Readonly<Record<string, string>>,
  asked: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  type Entry = readonly [string, string];
  const changes = markedChanges<Entry, Entry>(
    Object.entries(asked),
    ([key]) => key,
    (entry) => entry,
  );
  return Object.fromEntries(adjustKeyed<Entry>(Object.entries(map), ([key]) => key, changes));
}
