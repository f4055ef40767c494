import type { FileSystem } from '../../host/file-system.ts';
import { ByteReader } from '../images/archive/byte-reader.ts';
import { decompress } from '../images/archive/decompress.ts';
import { readTar } from '../images/archive/read-tar.ts';
import { TarError } from '../images/archive/tar-header.ts';
import { DigestVerifier } from './digest.ts';
import { inheritDirectories } from './inherit-directories.ts';
import { canRebuild, frameFile, type LayerFrame, replacedContentsFile } from './layer-frame.ts';
import { ReplacedContents } from './replaced-contents.ts';
import { SpaceGuard } from './space-guard.ts';
import type { StorageLayout } from './storage-layout.ts';
import { TarFrameWriter } from './tar-frame-writer.ts';
import { type MemberCallback, type UnpackedLayer, unpackLayer, type WhiteoutFormat } from './unpack-layer.ts';

export interface ApplyDeps {
  readonly fs: FileSystem;
  readonly layout: StorageLayout;
  readonly whiteoutFormat: WhiteoutFormat;
}

export interface LayerSource {
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

export interface AppliedLayer extends UnpackedLayer {
  /** Its files are beside the directory. `undefined`: the archive cannot be rebuilt. */
  readonly frame: LayerFrame | undefined;
}

/** Limit for padding after the end of an archive; more is an attack. */
const MAX_TAIL_BYTES = 64 * 1024 * 1024;

/**
 * Unpacks a layer into an empty directory, verifies it and syncs it to disk. A failure leaves incomplete files behind.
 */
export async function applyLayer(
  { fs, layout, whiteoutFormat }: ApplyDeps,
  folder: string,
  { diffId, archive, foldersBelow, belowReady }: LayerSource,
  signal: AbortSignal,
): Promise<AppliedLayer> {
  const compressed = archive.digest === undefined ? undefined : new DigestVerifier(archive.digest);
  const content = new DigestVerifier(diffId);
  const frame = new TarFrameWriter(fs, frameFile(folder));
  const space = new SpaceGuard(fs, layout.root);
  const replaced = new ReplacedContents({ fs, space }, replacedContentsFile(folder));
  const source = archive.open(signal);
  const whole = content.tee(decompress(compressed ? compressed.tee(source) : source));
  const bytes = new ByteReader(frame.tee(space.tee(whole)));
  try {
    await using files = await fs.openTree(folder);
    await using writer = await fs.writeTree(folder, {
      onReplace: (path, kind) => replaced.copyReplaced(path, kind, files, signal),
    });
    const reserveInodes = (inodes: number) => space.reserve(0, inodes);
    const onMember: MemberCallback = (member, path) => {
      replaced.allow(member.stored);
      return frame.member(member, path);
    };
    const unpacked = await unpackLayer(
      readTar(bytes),
      writer,
      { format: whiteoutFormat, onMember, reserveInodes },
      signal,
    );
    await frame.endMembers();
    await drainTail(bytes); // the digest includes everything after the end marker
    compressed?.verify('layer');
    content.verify('layer');
    const archiveBytes = await frame.finish();
    await belowReady;
    await inheritDirectories({ fs, writer }, unpacked.implied, foldersBelow, signal);
    await writer.finish({ toDisk: true });
    return { ...unpacked, frame: await verifyFrame(fs, { folder, diffId, archiveBytes, replaced }, signal) };
  } finally {
    await frame.close();
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
  readonly replaced: ReplacedContents;
}

/** If members replaced others, rebuilds the archive to find out whether that is possible. */
async function verifyFrame(
  fs: FileSystem,
  { folder, diffId, archiveBytes, replaced }: UncheckedFrame,
  signal: AbortSignal,
): Promise<LayerFrame | undefined> {
  const frame = replaced.list && { archiveBytes, kept: replaced.list };
  if (frame && !replaced.hasReplaced) return frame;
  if (frame && (await canRebuild(fs, { folder, diffId, frame }, signal))) return frame;
  for (const file of [frameFile(folder), replacedContentsFile(folder)]) await fs.remove(file);
  return undefined;
}
