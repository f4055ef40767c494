import type { FileStat, FileSystem } from '../../host/file-system.ts';
import type { TreeWriter } from '../../host/tree.ts';

/**
 * Copies the attributes of directories that are not in a layer's archive from the uppermost lower layer that has them.
 */
export async function inheritDirectories(
  { fs, writer }: { readonly fs: FileSystem; readonly writer: TreeWriter },
  implied: readonly string[],
  layersBelow: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const path of implied) {
    signal.throwIfAborted();
    // A later member may have replaced the directory or one of its parents with a link.
    const kinds = await Promise.all(pathPrefixes(path).map((prefix) => writer.kind(prefix)));
    if (kinds.some((kind) => kind !== 'directory')) continue;
    const found = await folderBelow(fs, path, layersBelow);
    if (!found) continue;
    const { mode, uid, gid, modifiedMs } = found;
    await writer.put(path, { kind: 'directory', mode, uid, gid, modifiedMs });
  }
}

/** Never follows a link, which may lead out of the layer. A non-directory hides directories of lower layers. */
async function folderBelow(
  fs: FileSystem,
  path: string,
  layersBelow: readonly string[],
): Promise<FileStat | undefined> {
  for (const layer of layersBelow.toReversed()) {
    let found: FileStat | undefined;
    for (const prefix of pathPrefixes(path)) {
      found = await fs.lstat(`${layer}/${prefix}`);
      if (found === undefined) break;
      if (found.kind !== 'directory') return undefined;
    }
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns `a`, `a/b`, `a/b/c`. */
function pathPrefixes(path: string): readonly string[] {
  return path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
}
