/** A JSON object in a patch or in a patched object. */
export type PatchMap = Readonly<Record<string, unknown>>;

/** The patch is invalid for the object. */
export class BadPatchError extends Error {
  override readonly name = 'BadPatchError';
}

/** True for a JSON object, false for a list. */
export function isMap(value: unknown): value is PatchMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a patch without a counterpart: without nulls, directives and deleted elements. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !(isMap(item) && '$patch' in item)).map(withoutDirectives);
  }
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, part]) => part !== null && !key.startsWith('$') && !(isMap(part) && '$patch' in part))
      .map(([key, part]) => [key, withoutDirectives(part)]),
  );
}
