/**
 * The largest user or group id of a process that Kubernetes, containerd, runc and crun accept. `(uid_t) -1`, which means
 * "unchanged" to setresuid(2) and chown(2), lies above it.
 */
export const MAX_ID = 2 ** 31 - 1;

/** The largest owner that a file can have: one below `(uid_t) -1`. */
export const MAX_OWNER_ID = 2 ** 32 - 2;

export function isId(value: number | bigint): boolean {
  return value >= 0 && value <= MAX_ID && (typeof value === 'bigint' || Number.isInteger(value));
}

/** What a text that may be a name or a number refers to. A number is never a name, also where it is out of range. */
export type ParsedId =
  | { readonly kind: 'id'; readonly id: number }
  | { readonly kind: 'outOfRange' }
  | { readonly kind: 'name'; readonly name: string };

/** Numbers are those of Go's strconv.ParseInt with base 10: digits with or without a sign. */
export function parseId(text: string): ParsedId {
  if (!/^[+-]?\d+$/.test(text)) return { kind: 'name', name: text };
  const id = Number(text);
  return isId(id) ? { kind: 'id', id: id || 0 } : { kind: 'outOfRange' }; // `-0` is 0
}
