import type { IdRange } from './id-space.ts';

interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/**
 * The content of `pods/<uid>/userns`, byte for byte as kubelet writes it, so that kubelet and this agent can take over
 * from each other.
 */
export function mappingsText({ first, length }: IdRange): string {
  const mapping: IdMapping = { hostId: first, containerId: 0, length };
  return JSON.stringify({ uidMappings: [mapping], gidMappings: [mapping] });
}

/** Throws kubelet's message for an invalid file. */
export function parseMappings(text: string): IdRange {
  const file = parseJson(text);
  const uids = mappings(file, 'uidMappings');
  const gids = mappings(file, 'gidMappings');
  const [uid] = uids;
  const [gid] = gids;
  if (uids.length !== 1 || uid === undefined) throw invalidMappings('no more than one mapping allowed.');
  if (gids.length !== 1 || gid === undefined) throw invalidMappings('GID and UID mappings should be identical.');
  if (uid.hostId !== gid.hostId || uid.containerId !== gid.containerId || uid.length !== gid.length) {
    throw invalidMappings('GID and UID mapping should be identical');
  }
  if (uid.containerId !== 0) throw invalidMappings('UID 0 must be mapped');
  return { first: uid.hostId, length: uid.length };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`invalid user namespace mappings file: ${String(error)}`, { cause: error });
  }
}

function mappings(file: unknown, field: string): IdMapping[] {
  const list = jsonField(file, field);
  return Array.isArray(list) ? list.map(mapping) : [];
}

function mapping(value: unknown): IdMapping {
  const number = (field: string): number => {
    const found = jsonField(value, field) ?? 0;
    if (typeof found === 'number' && Number.isInteger(found) && found >= 0 && found < 2 ** 32) return found;
    throw new Error(`invalid user namespace mappings file: ${field} is not a 32-bit number`);
  };
  return { hostId: number('hostId'), containerId: number('containerId'), length: number('length') };
}

function jsonField(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === field)?.[1];
}

function invalidMappings(why: string): Error {
  return new Error(`invalid user namespace configuration: ${why}`);
}
