/** Maps with keys of users, which are not renamed. */
const USER_MAPS = new Set(['labels', 'annotations', 'unified', 'sysctls']);

/** A CRI message as Go's JSON: protocol field names, bytes as text, unset fields omitted. */
export function goJson(message: object): unknown {
  return JSON.parse(JSON.stringify(message, goValue));
}

function goValue(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || USER_MAPS.has(key)) return value;
  const members = Object.entries(value).filter(([, member]) => isSet(member));
  return Object.fromEntries(members.map(([name, member]) => [snakeCase(name), member]));
}

function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]+/g, (capitals, at: number) => (at === 0 ? capitals : `_${capitals.toLowerCase()}`));
}
