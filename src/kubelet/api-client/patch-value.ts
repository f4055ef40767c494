/** A JSON object, in a patch or in what is patched. */
export type PatchMap = Readonly<Record<string, unknown>>;

/** The patch does not make sense for the object that it is meant for. */
export class BadPatchError extends Error {
  override readonly name = 'BadPatchError';
}

/** True for a JSON object, and not for a list. */
export function isMap(value: unknown): value is PatchMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a patch says where there was nothing to merge it with: no nulls, no directives, nothing that is deleted. */
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
