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
    /** Of the bytes as `open` gives them. */
    readonly digest?: string;
    open(signal: AbortSignal): AsyncIterable<Uint8Array>;
  };
  /** The lowest first; they are whole when `belowReady` resolves. */
  readonly foldersBelow: readonly string[];
  readonly belowReady: Promise<unknown>;
}

export interface ReceivedLayer extends UnpackedLayer {
  /** Its file and what is kept lie beside the folder. `undefined`: its archive cannot be made again. */
  readonly frame: LayerFrame | undefined;
}

/** Padding after the end of an archive; more is an attack. */
const MOST_TAIL = 64 * 1024 * 1024;

/** Unpacks a layer into an empty folder and checks all of it; by then it is on the disk. A failure leaves what came so far. */
export async function receiveLayer(
  { fs, layout, form }: ReceiveDeps,
  folder: string,
  { diffId, archive, foldersBelow, belowReady }: ComingLayer,
  signal: AbortSignal,
): Promise<ReceivedLayer> {
  const coming = archive.digest === undefined ? undefined : new DigestChecker(archive.digest);
  const content = new DigestChecker(diffId);
  const frame = new TarFrameWriter(fs, frameFile(folder));
  const space = new SpaceGuard(fs, layout.root);
  const kept = new KeptContents({ fs, space }, keptFile(folder));
  const source = archive.open(signal);
  const whole = content.passing(decompress(coming ? coming.passing(source) : source));
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
    await drainTail(bytes); // the digest is of all that came, also behind the end mark
    coming?.verify('layer');
    content.verify('layer');
    const archiveBytes = await frame.finish();
    await belowReady;
    await inheritFolders({ fs, writer }, unpacked.implied, foldersBelow, signal);
    await writer.finish({ toDisk: true });
    return { ...unpacked, frame: await checkedFrame(fs, { folder, diffId, archiveBytes, kept }, signal) };
  } finally {
    await frame.abandon();
    await bytes.close();
  }
}

async function drainTail(bytes: ByteReader): Promise<void> {
  let left = MOST_TAIL;
  for (let some = await bytes.read(left); some; some = await bytes.read(left)) {
    left -= some.byteLength;
    if (left === 0) throw new TarError(`more than ${MOST_TAIL} bytes after the end of the archive`);
  }
}

interface UncheckedFrame {
  readonly folder: string;
  readonly diffId: string;
  readonly archiveBytes: number;
  readonly kept: KeptContents;
}

/** Where members took the place of others, whether the archive can be made again is found out by making it. */
async function checkedFrame(
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
