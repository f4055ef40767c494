import type { FileSystem } from '../../host/file-system.ts';
import { ByteReader } from '../images/archive/byte-reader.ts';
import { decompress } from '../images/archive/decompress.ts';
import { readTar } from '../images/archive/read-tar.ts';
import { TarError } from '../images/archive/tar-header.ts';
import { DigestChecker } from './digest.ts';
import { inheritFolders } from './inherit-folders.ts';
import { KeptContents } from './kept-contents.ts';
import { frameFile, isExact, keptFile, type LayerFrame } from './layer-frame.ts';
import { SpaceGuard } from './space-guard.ts';
import type { StorageLayout } from './storage-layout.ts';
import { TarFrameWriter } from './tar-frame-writer.ts';
import { type MarkForm, type UnpackedLayer, type UnpackWatcher, unpackLayer } from './unpack-layer.ts';

export interface ReceiveDeps {
  readonly fs: FileSystem;
  readonly layout: StorageLayout;
  readonly form: MarkForm;
}

export interface ComingLayer {
  readonly diffId: string;
  readonly archive: {
    /** Digest of the bytes of `open`. */
    readonly digest?: string;
    open(signal: AbortSignal): AsyncIterable<Uint8Array>;
  };
  /** Lowest first; they are complete when `belowReady` resolves. */
  readonly foldersBelow: readonly string[];
  readonly belowReady: Promise<unknown>;
}

export interface ReceivedLayer extends UnpackedLayer {
  /** Its files are beside the directory. `undefined`: the archive cannot be rebuilt. */
  readonly frame: LayerFrame | undefined;
}

/** Limit for padding after the end of an archive; more is an attack. */
const MAX_TAIL_BYTES = 64 * 1024 * 1024;

/**
 * Unpacks a layer into an empty directory, verifies it and syncs it to disk. A failure leaves incomplete files behind.
 */
export async function receiveLayer(
  { fs, layout, form }: ReceiveDeps,
  folder: string,
  { diffId, archive, foldersBelow, belowReady }: ComingLayer,
  signal: AbortSignal,
): Promise<ReceivedLayer> {
  const compressed = archive.digest === undefined ? undefined : new DigestChecker(archive.digest);
  const content = new DigestChecker(diffId);
  const frame = new TarFrameWriter(fs, frameFile(folder));
  const space = new SpaceGuard(fs, layout.root);
  const kept = new KeptContents({ fs, space }, keptFile(folder));
  const source = archive.open(signal);
  const whole = content.passing(decompress(compressed ? compressed.passing(source) : source));
  const bytes = new ByteReader(frame.passing(space.passing(whole)));
  try {
    await using files = await fs.openTree(folder);
    await using writer = await fs.writeTree(folder, {
      onReplace: (path, kind) => kept.keep(path, kind, files, signal),
    });
    const room = (inodes: number) => space.take(0, inodes);
    const watch: UnpackWatcher = (member, path) => {
      kept.allow(member.stored);
      return frame.member(member, path);
    };
    const unpacked = await unpackLayer(readTar(bytes), writer, { form, watch, room }, signal);
    await frame.endMembers();
    await drainTail(bytes); // the digest includes everything after the end marker
    compressed?.verify('layer');
    content.verify('layer');
    const archiveBytes = await frame.finish();
    await belowReady;
    await inheritFolders({ fs, writer }, unpacked.implied, foldersBelow, signal);
    await writer.finish({ toDisk: true });
    return { ...unpacked, frame: await verifyFrame(fs, { folder, diffId, archiveBytes, kept }, signal) };
  } finally {
    await frame.abandon();
    await bytes.close();
  }
}

async function drainTail(bytes: ByteReader): Promise<void> {
  let left = MAX_TAIL_BYTES;
  for (let some = await bytes.read(left); some; some = await bytes.read(left)) {
    left -= some.byteLength;
    if (left === 0) throw new TarError(`more than ${MAX_TAIL_BYTES} bytes after the end of the archive`);
  }
}

interface UncheckedFrame {
  readonly folder: string;
  readonly diffId: string;
  readonly archiveBytes: number;
  readonly kept: KeptContents;
}

/** If members replaced others, rebuilds the archive to find out whether that is possible. */
async function verifyFrame(
  fs: FileSystem,
  { folder, diffId, archiveBytes, kept }: UncheckedFrame,
  signal: AbortSignal,
): Promise<LayerFrame | undefined> {
  const frame = kept.list && { archiveBytes, kept: kept.list };
  if (frame && !kept.hasReplaced) return frame;
  if (frame && (await isExact(fs, { folder, diffId, frame }, signal))) return frame;
  for (const file of [frameFile(folder), keptFile(folder)]) await fs.remove(file);
  return undefined;
}
