import { byCodePoint } from '../../base/code-point-order.ts';
import { CriError } from '../../cri/cri-error.ts';
import { FileSystemError } from '../../host/file-system.ts';
import type { TreeMember } from '../../host/tree.ts';
import { DigestError, digestOf } from '../storage/digest.ts';
import type { LayerLeases } from '../storage/layer-leases.ts';
import type { LayerFile, LayerStore } from '../storage/layer-store.ts';
import { UnexpectedEofError } from './archive/byte-reader.ts';
import { writeTar } from './archive/write-tar.ts';
import type { ImageExporter } from './image-exporter.ts';
import type { ImageRecord, ImageRecords } from './image-records.ts';
import { hasDigest, normalizeReference } from './image-reference.ts';
import { blobPath, layoutFiles, type SavedFile, type SavedImage } from './saved-layout.ts';

export interface ImageExporterDeps {
  readonly layers: LayerStore;
  readonly records: ImageRecords;
  readonly leases: LayerLeases;
  /** Removes those of these layers that are not in use. */
  readonly discardLayers: (chain: readonly string[]) => Promise<void>;
}

export function createImageExporter(deps: ImageExporterDeps): ImageExporter {
  return {
    async *archive(images, signal) {
      const requested = requestedImages(deps.records, images);
      const chain = requested.flatMap(({ record }) => chainOf(record));
      try {
        using _ = deps.leases.acquire(chain);
        yield* writeArchive(deps, requested, signal);
      } finally {
        await deps.discardLayers(chain); // the image may have been removed meanwhile
      }
    },
  };
}

async function* writeArchive(deps: ImageExporterDeps, requested: readonly RequestedImage[], signal: AbortSignal) {
  const saved: SavedImage[] = [];
  const blobs = new Map<string, SavedFile>();
  for (const { record, names } of requested) saved.push(await prepareImage(deps, record, names, { blobs, signal }));
  yield* writeTar(members([...layoutFiles(saved), ...blobs.values()]));
}

interface RequestedImage {
  readonly record: ImageRecord;
  readonly names: Set<string>;
}

/** Returns each image once, with the names that the caller gave. */
function requestedImages(records: ImageRecords, images: readonly string[]): readonly RequestedImage[] {
  const requested = new Map<string, RequestedImage>();
  for (const image of images) {
    const record = records.record(image);
    if (record === undefined) throw new CriError('NotFound', `image ${JSON.stringify(image)} not found`);
    const known = requested.get(record.id) ?? { record, names: new Set() };
    const name = normalizeReference(image);
    // A digest in a name refers to the pulled manifest; the archive has a different one.
    if (name !== undefined && !hasDigest(name) && record.references.includes(name)) known.names.add(name);
    requested.set(record.id, known);
  }
  return [...requested.values()];
}

function chainOf({ layers }: ImageRecord): readonly string[] {
  return layers.map(({ chainId }) => chainId);
}

async function prepareImage(
  { layers, records }: ImageExporterDeps,
  record: ImageRecord,
  names: ReadonlySet<string>,
  { blobs, signal }: { readonly blobs: Map<string, SavedFile>; readonly signal: AbortSignal },
): Promise<SavedImage> {
  const config = new TextEncoder().encode(await configText(records, record.id));
  if (digestOf(config) !== record.id) throw new CriError('Internal', `image ${record.id} has lost its configuration`);
  const parts: Array<{ digest: string; size: number }> = [];
  for (const chainId of chainOf(record)) {
    const file = await layers.describe(chainId);
    const size = archiveBytes(record, file);
    parts.push({ digest: file.diffId, size });
    const open = () => convertErrors(layers.archive(chainId, file, signal), record.id);
    blobs.set(file.diffId, { path: blobPath(file.diffId), size, open });
  }
  return { id: record.id, names: [...names].sort(byCodePoint), config, layers: parts };
}

/** The image may be removed while its configuration is read; its layers are held at this point. */
async function configText(records: ImageRecords, id: string): Promise<string> {
  try {
    return await records.configText(id);
  } catch (error) {
    if (!(error instanceof FileSystemError) || error.code !== 'ENOENT') throw error;
    throw new CriError('NotFound', `image ${id} not found: it was removed meanwhile`, { cause: error });
  }
}

function archiveBytes(record: ImageRecord, { diffId, frame }: LayerFile): number {
  if (frame) return frame.archiveBytes;
  const name = record.references[0] ?? record.id;
  throw new CriError(
    'FailedPrecondition',
    `image ${name} cannot be saved: the tar headers of its layer ${diffId} were not stored;  ` +
      'an image of an earlier version can be saved once it is removed and pulled again',
  );
}

/** Converts content errors into errors of the call. */
async function* convertErrors(bytes: AsyncIterable<Uint8Array>, id: string): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* bytes;
  } catch (error) {
    if (!(error instanceof DigestError || error instanceof UnexpectedEofError)) throw error;
    throw new CriError('DataLoss', `image ${id}: files of a layer were changed: ${error.message}`, { cause: error });
  }
}

/** The same images give the same bytes. */
async function* members(blobs: readonly SavedFile[]): AsyncGenerator<TreeMember, void, void> {
  const attributes = { mode: 0o644, uid: 0, gid: 0, modifiedMs: 0 };
  for (const { path, size, open } of blobs) {
    yield { path, node: { ...attributes, kind: 'file', size, content: open() } };
  }
}
