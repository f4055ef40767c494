import type { IdRange, MountIdMap } from '../mounts.ts';
import type { DirectoryInode, Inode } from './memory-inode.ts';
import type { MemoryTree } from './memory-tree.ts';

const OPAQUE = ['trusted.overlay.opaque', 'user.overlay.opaque'];
/** The kernel's overflow id, for ids that are not in the map. */
const OVERFLOW_ID = 65534;

/** A copy of the merged tree that overlayfs would show. `lower`: the uppermost first. */
export function mergedTree(
  tree: MemoryTree,
  lower: readonly Inode[],
  upper: DirectoryInode | undefined,
  idMap: MountIdMap | undefined,
): Inode {
  const device = tree.newRoot(0).device;
  const merge = (layers: ReadonlyArray<{ inode: Inode; isLower: boolean }>): Inode => {
    const [top] = layers;
    if (top === undefined) return tree.newRoot(0o755);
    const owner = top.isLower && idMap ? mapped(top.inode, idMap) : { uid: top.inode.uid, gid: top.inode.gid };
    const copy: Inode = { ...top.inode, device, ...owner };
    if (copy.kind !== 'directory') return copy;
    const names = new Map<string, Array<{ inode: Inode; isLower: boolean }>>();
    const hidden = new Set<string>();
    for (const { inode, isLower } of layers) {
      if (inode.kind !== 'directory') break;
      for (const [name, child] of inode.entries) {
        if (hidden.has(name)) continue;
        if (child.kind !== 'directory') hidden.add(name);
        names.set(name, [...(names.get(name) ?? []), { inode: child, isLower }]);
      }
      if (OPAQUE.some((mark) => inode.xattrs?.has(mark))) break;
    }
    const shown = [...names].filter(([, [first]]) => first && !isWhiteout(first.inode));
    return { ...copy, entries: new Map(shown.map(([name, found]) => [name, merge(found)])) };
  };
  const layers = lower.map((inode) => ({ inode, isLower: true }));
  return merge(upper ? [{ inode: upper, isLower: false }, ...layers] : layers);
}

function isWhiteout(inode: Inode): boolean {
  return inode.kind === 'characterDevice' && inode.special.major === 0 && inode.special.minor === 0;
}

function mapped({ uid, gid }: Inode, { uids, gids }: MountIdMap): { uid: number; gid: number } {
  return { uid: mapId(uid, uids), gid: mapId(gid, gids) };
}

function mapId(id: number, ranges: readonly IdRange[]): number {
  const range = ranges.find(({ containerId, length }) => id >= containerId && id < containerId + length);
  return range ? range.hostId + (id - range.containerId) : OVERFLOW_ID;
}
