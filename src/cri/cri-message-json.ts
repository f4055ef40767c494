/** Maps that users fill: their keys are not ours. */
const USERS_KEYS = new Set(['labels', 'annotations', 'unified', 'sysctls']);

/** A CRI message as Go prints it: the protocol's names, text for bytes, and nothing that is not set. */
export function goJson(message: object): unknown {
  return JSON.parse(JSON.stringify(message, goValue));
}

function goValue(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || USERS_KEYS.has(key)) return value;
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
