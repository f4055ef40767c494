import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { UnexpectedEofError } from '../images/archive/byte-reader.ts';
import { streamAll } from '../images/archive/image-archive.ts';
import { DigestError, DigestVerifier } from './digest.ts';
import { rebuildTar } from './rebuild-tar.ts';
import { type ReplacedContent, readReplaced } from './replaced-contents.ts';

/**
 * How the archive of a layer is rebuilt (like tar-split); the frame itself is in a file beside the layer's directory.
 */
export interface LayerFrame {
  readonly archiveBytes: number;
  readonly kept: readonly ReplacedContent[];
}

/** Files beside the directory of a layer, created before it and removed after it. */
export function frameFile(folder: string): string {
  return `${folder}.tar-frame`;
}

export function replacedContentsFile(folder: string): string {
  return `${folder}.tar-kept`;
}

/**
 * Rebuilds the archive that was unpacked into the directory. Throws `DigestError` at the end if it differs from the
 * original.
 */
export async function* rebuildLayer(
  fs: FileSystem,
  layer: { readonly folder: string; readonly diffId: string; readonly frame: LayerFrame },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const { folder, diffId, frame } = layer;
  const checked = new DigestVerifier(diffId);
  const waiting = Map.groupBy(frame.kept, ({ path }) => path);
  await using tree = await fs.openTree(folder);
  const contentOf = (path: string) => {
    const kept = waiting.get(path)?.shift();
    return (extent: { readonly offset: number; readonly length: number }) =>
      kept ? readReplaced(fs, replacedContentsFile(folder), kept, extent) : tree.read(path, extent, signal);
  };
  yield* checked.tee(rebuildTar(bytesOf(fs, frameFile(folder), signal), contentOf));
  checked.verify('layer');
}

/**
 * Whether the archive can be rebuilt. Not if a member replaced a directory with files, or was reached through a link.
 */
export async function canRebuild(
  fs: FileSystem,
  layer: Parameters<typeof rebuildLayer>[1],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    for await (const _ of rebuildLayer(fs, layer, signal));
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DigestError || error instanceof UnexpectedEofError) return false;
    if (error instanceof FileSystemError) return false;
    throw error;
  }
}

async function* bytesOf(fs: FileSystem, path: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  await using file = await fs.openFile(path);
  const { size } = await file.stat();
  yield* streamAll({ size, read: (offset, length) => file.read(offset, length) }, signal);
}
