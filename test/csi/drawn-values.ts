import { createHash } from 'node:crypto';

const TOKENS = 'csi.storage.k8s.io/serviceAccount.tokens';

/** Values that differ from run to run, and the names that take their place in recordings. */
export class DrawnValues {
  readonly #names = new Map<string, string>();

  set(value: string, name: string): void {
    this.#names.set(value, `<${name}>`);
  }

  /** The same value with names instead of drawn values. */
  replaceIn<T>(value: T): T {
    return JSON.parse(JSON.stringify(value, replaceTokens), (_key, member: unknown) =>
      member !== null && typeof member === 'object' && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).map(([key, each]) => [this.#replace(key), each]))
        : typeof member === 'string'
          ? this.#replace(member)
          : member,
    );
  }

  #replace(text: string): string {
    const longestFirst = [...this.#names].sort(([a], [b]) => b.length - a.length);
    const named = longestFirst.reduce((so, [value, name]) => so.replaceAll(value, name), text);
    return named.replace(/\/dev\/loop\d+/g, '/dev/loop<number>');
  }
}

/** Tokens are JSON text in a volume's context: `{"audience":{"token":…,"expirationTimestamp":…}}`. */
function replaceTokens(key: string, value: unknown): unknown {
  if (key !== TOKENS || typeof value !== 'string') return value;
  const byAudience = Object.entries(JSON.parse(value) as Record<string, Record<string, string>>);
  const named = byAudience.map(([audience, fields]) => [
    audience,
    Object.fromEntries(Object.keys(fields).map((field) => [field, `<${field}>`])),
  ]);
  return JSON.stringify(Object.fromEntries(named));
}

/** The name of a VolumeAttachment, also of a volume that is never attached. */
export function attachmentName(handle: string, driver: string, node: string): string {
  return `csi-${sha256(`${handle}${driver}${node}`)}`;
}

/** The handle of an inline volume. */
export function inlineHandle(podUid: string, volume: string): string {
  return `csi-${sha256(`${podUid}${volume}`)}`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
