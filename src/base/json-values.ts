/** Reads values out of parsed JSON. Each throws an `Error` that begins with the field. */

export type Json = Readonly<Record<string, unknown>>;

export function jsonObject(value: unknown, field: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${field}: expected object`);
  return value as Json; // as checked
}

/** Absent and null are empty. */
export function jsonArray(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${field}: expected array`);
  return value;
}

export function jsonString(value: unknown, field: string): string {
  if (typeof value !== 'string' || value === '') throw new Error(`${field}: expected text`);
  return value;
}

export function jsonInteger(value: unknown, field: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new Error(`${field}: expected integer`);
  return value;
}
