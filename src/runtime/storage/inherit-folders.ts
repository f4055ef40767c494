import type { FileStat, FileSystem } from '../../host/file-system.ts';
import type { TreeWriter } from '../../host/tree.ts';

/** A folder that is not in a layer's archive looks as it does in the uppermost layer below that has it. */
export async function inheritFolders(
  { fs, writer }: { readonly fs: FileSystem; readonly writer: TreeWriter },
  implied: readonly string[],
  layersBelow: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const path of implied) {
    signal.throwIfAborted();
    // A later member may have put a link in its place, or on the way to it.
    const kinds = await Promise.all(waysTo(path).map((way) => writer.kind(way)));
    if (kinds.some((kind) => kind !== 'directory')) continue;
    const found = await folderBelow(fs, path, layersBelow);
    if (!found) continue;
    const { mode, uid, gid, modifiedMs } = found;
    await writer.put(path, { kind: 'directory', mode, uid, gid, modifiedMs });
  }
}

/** Never through a link, which may lead out of the layer. What is no folder hides those below it. */
async function folderBelow(
  fs: FileSystem,
  path: string,
  layersBelow: readonly string[],
): Promise<FileStat | undefined> {
  for (const layer of layersBelow.toReversed()) {
    let found: FileStat | undefined;
    for (const way of waysTo(path)) {
      found = await fs.lstat(`${layer}/${way}`);
      if (found === undefined) break;
      if (found.kind !== 'directory') return undefined;
    }
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `a`, `a/b`, `a/b/c` */
function waysTo(path: string): readonly string[] {
  return path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
}
