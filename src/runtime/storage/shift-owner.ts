import type { IdMap } from './snapshots.ts';

type Ranges = IdMap['uids'];

/** Who owns on the host what these ids own in the container; an id without a place in the map is root's there. */
export function shiftedOwner(
  { uid, gid }: { readonly uid: number; readonly gid: number },
  idMap: IdMap | undefined,
): { readonly uid: number; readonly gid: number } {
  if (idMap === undefined) return { uid, gid };
  return { uid: shifted(uid, idMap.uids), gid: shifted(gid, idMap.gids) };
}

function shifted(id: number, ranges: Ranges): number {
  return placeOf(id, ranges) ?? placeOf(0, ranges) ?? id;
}

function placeOf(id: number, ranges: Ranges): number | undefined {
  const range = ranges.find(({ containerId, length }) => id >= containerId && id < containerId + length);
  return range && range.hostId + (id - range.containerId);
}
