/** JSON as immutable values. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object as it is; anything else counts as an empty one. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value at a path of object keys; `undefined` when something on the way is not there. */
export function valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), object);
}

/** A copy with that value at the path; objects on the way are made as needed. */
export function withValueAt(object: JsonObject, path: readonly string[], value: JsonValue): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined) return object;
  const inner = object[key];
  const next = rest.length === 0 ? value : withValueAt(objectOf(inner), rest, value);
  return { ...object, [key]: next };
}

/** A copy without the members that are null. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]));
}
