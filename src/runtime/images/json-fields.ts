/** Reads foreign JSON field by field. A field of the wrong type counts as absent. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Throws `SyntaxError` that names the document. */
export function parseObject(data: Uint8Array, what: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(data));
  } catch (error) {
    throw new SyntaxError(`${what}: invalid JSON`, { cause: error });
  }
  const object = asObject(value);
  if (object === undefined) throw new SyntaxError(`${what}: not an object`);
  return object;
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function stringField(object: JsonObject | undefined, key: string): string {
  const value = object?.[key];
  return typeof value === 'string' ? value : '';
}

export function numberField(object: JsonObject | undefined, key: string): number {
  const value = object?.[key];
  return typeof value === 'number' ? value : 0;
}

export function stringList(object: JsonObject | undefined, key: string): readonly string[] {
  return listField(object, key).filter((item) => typeof item === 'string');
}

export function listField(object: JsonObject | undefined, key: string): readonly unknown[] {
  const value = object?.[key];
  return Array.isArray(value) ? value : [];
}

export function stringMap(object: JsonObject | undefined, key: string): Readonly<Record<string, string>> {
  const entries = Object.entries(asObject(object?.[key]) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
