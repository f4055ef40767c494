import type { FileSystem } from '../../host/file-system.ts';
import type { TreeWriter } from '../../host/tree.ts';
import { mapOwner } from './map-owner.ts';
import type { IdMap } from './snapshotter.ts';
import { SpaceGuard } from './space-guard.ts';
import type { Whiteouts } from './unpack-layer.ts';

/** A layer whose directory contains no whiteouts. */
export interface LayerToMerge extends Whiteouts {
  readonly folder: string;
}

/** Copies layers into an empty directory, lowest first, and applies each layer's whiteouts. */
export async function mergeLayers(
  fs: FileSystem,
  layers: readonly LayerToMerge[],
  target: string,
  idMap: IdMap | undefined,
  signal: AbortSignal,
): Promise<void> {
  await using writer = await fs.writeTree(target);
  const space = new SpaceGuard(fs, target);
  for (const { folder, removed, opaque } of layers) {
    for (const path of removed) await writer.remove(path);
    for (const path of opaque) await writer.remove(path);
    await copyInto({ fs, writer, space }, folder, idMap, signal);
  }
  await writer.finish();
}

export interface CopyDeps {
  readonly fs: FileSystem;
  readonly writer: TreeWriter;
  /** Holes of sparse files take space when they are copied. */
  readonly space: SpaceGuard;
}

/** Copies a tree into another, with mapped owners. Rejects with `SpaceError`. */
export async function copyInto(
  { fs, writer, space }: CopyDeps,
  folder: string,
  idMap: IdMap | undefined,
  signal: AbortSignal,
): Promise<void> {
  for await (const { path, node } of fs.readTree(folder, signal)) {
    await space.reserve(node.kind === 'file' ? node.size : 0, 1);
    await writer.put(path, { ...node, ...mapOwner(node, idMap) });
  }
}
