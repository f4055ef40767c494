import type { IdRange } from './id-space.ts';

interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/** The content of `pods/<uid>/userns`, byte for byte as kubelet writes it: a node may change between the two. */
export function mappingsText({ first, length }: IdRange): string {
  const mapping: IdMapping = { hostId: first, containerId: 0, length };
  return JSON.stringify({ uidMappings: [mapping], gidMappings: [mapping] });
}

/** Throws in kubelet's words for a file that neither we nor kubelet wrote. */
export function parseMappings(text: string): IdRange {
  const file = parseJson(text);
  const uids = mappings(file, 'uidMappings');
  const gids = mappings(file, 'gidMappings');
  const [uid] = uids;
  const [gid] = gids;
  if (uids.length !== 1 || uid === undefined) throw invalid('no more than one mapping allowed.');
  if (gids.length !== 1 || gid === undefined) throw invalid('GID and UID mappings should be identical.');
  if (uid.hostId !== gid.hostId || uid.containerId !== gid.containerId || uid.length !== gid.length) {
    throw invalid('GID and UID mapping should be identical');
  }
  if (uid.containerId !== 0) throw invalid('UID 0 must be mapped');
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
  const list = fieldOf(file, field);
  return Array.isArray(list) ? list.map(mapping) : [];
}

function mapping(value: unknown): IdMapping {
  const number = (field: string): number => Number(fieldOf(value, field) ?? 0);
  return { hostId: number('hostId'), containerId: number('containerId'), length: number('length') };
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === field)?.[1];
}

function invalid(why: string): Error {
  return new Error(`invalid user namespace configuration: ${why}`);
}
