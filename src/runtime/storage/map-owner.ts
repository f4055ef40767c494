import type { IdMap } from './snapshotter.ts';

type Ranges = IdMap['uids'];

/**
 * Returns the owner on the host of files with these IDs in the container. IDs outside of the map become the container's
 * root.
 */
export function mapOwner(
  { uid, gid }: { readonly uid: number; readonly gid: number },
  idMap: IdMap | undefined,
): { readonly uid: number; readonly gid: number } {
  if (idMap === undefined) return { uid, gid };
  return { uid: mapId(uid, idMap.uids), gid: mapId(gid, idMap.gids) };
}

function mapId(id: number, ranges: Ranges): number {
  return lookUp(id, ranges) ?? lookUp(0, ranges) ?? id;
}

function lookUp(id: number, ranges: Ranges): number | undefined {
  const range = ranges.find(({ containerId, length }) => id >= containerId && id < containerId + length);
  return range && range.hostId + (id - range.containerId);
}
