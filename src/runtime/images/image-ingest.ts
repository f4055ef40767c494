import { isUtf8 } from 'node:buffer';
import { Semaphore } from '../../base/semaphore.ts';
import { traceWork } from '../../base/trace-work.ts';
import { FileSystemError } from '../../host/file-system.ts';
import { chainIds, DigestError, digestOf, isDigest } from '../storage/digest.ts';
import type { LayerLeases } from '../storage/layer-leases.ts';
import type { IncomingLayer, LayerStore } from '../storage/layer-store.ts';
import { SpaceError } from '../storage/space-guard.ts';
import { parseImageConfig } from './image-config.ts';
import type { ImageRecords, RecordedLayer } from './image-records.ts';
import { normalizeReference } from './image-reference.ts';
import type { StoredImage } from './image-store.ts';
import { isInvalidContent } from './invalid-content.ts';
import { invalidVolumesReason } from './volume-paths.ts';

/** An image to be stored, from a registry or an archive. */
export interface IncomingImage {
  /** Names with a tag or a digest, short or full. */
  readonly references: readonly string[];
  /** The original bytes; their digest is the image's ID. */
  readonly config: Uint8Array;
  /** Lowest first, as many as the configuration has diff IDs. */
  readonly layers: readonly IncomingLayer[];
  /** Size of everything as transferred. */
  readonly sizeBytes: number;
}

/** The only way to add images to the store. */
export interface ImageIngest {
  /**
   * Unpacks the missing layers, verifies all layers and records the image, which makes it visible. Existing layers are
   * not opened and are reported at once.
   * Rejects with `DigestError`, `TarError`, `UnexpectedEofError` or `SyntaxError` for an invalid image, with the error of
   * `open` or `failed`, or with the signal's reason. Nothing is kept of an image that is invalid or for which there is
   * no space; otherwise complete layers are kept for the next attempt.
   */
  ingest(image: IncomingImage, signal: AbortSignal): Promise<StoredImage>;
}

export interface ImageIngestDeps {
  readonly layers: LayerStore;
  readonly records: ImageRecords;
  readonly leases: LayerLeases;
  /** Removes those of these layers that are not in use. */
  readonly discardLayers: (chain: readonly string[]) => Promise<void>;
}

/** Layers of one image received and unpacked in parallel, as containerd's `max_concurrent_downloads`. */
const LAYERS_AT_ONCE = 3;
/** Limit of layers in the options of one mount (a page), each given by a descriptor. Docker builds at most 127. */
const MAX_LAYERS = 160;

export function createImageIngest(deps: ImageIngestDeps): ImageIngest {
  return {
    async ingest(image, signal) {
      const id = digestOf(image.config);
      checkEncoding(image.config);
      const { config, diffIds } = parseImageConfig(image.config);
      checkLayers(image, diffIds);
      const volumesError = invalidVolumesReason(config.volumes);
      if (volumesError !== undefined) throw new SyntaxError(volumesError);
      const references = image.references.map(fullReference);
      const chain = chainIds(diffIds);
      try {
        using _ = deps.leases.acquire(chain);
        await addLayers(deps.layers, image, { diffIds, chain }, signal);
        const layers = await recordedLayers(deps.layers, chain);
        const record = { id, references, sizeBytes: image.sizeBytes, config, layers };
        return await deps.records.add(record, image.config);
      } catch (error) {
        if (isPermanent(error)) await deps.discardLayers(chain);
        throw error;
      }
    },
  };
}

/** Whether another attempt would fail the same way. */
function isPermanent(error: unknown): boolean {
  return isInvalidContent(error) || error instanceof SpaceError || error instanceof FileSystemError;
}

interface Layers {
  readonly diffIds: readonly string[];
  readonly chain: readonly string[];
}

/** Unpacks in parallel. Each layer is moved into the store after those below it. */
async function addLayers(
  layers: LayerStore,
  image: IncomingImage,
  { diffIds, chain }: Layers,
  signal: AbortSignal,
): Promise<void> {
  const slots = new Semaphore(LAYERS_AT_ONCE); // of this image: a slow registry does not delay the others
  const giveUp = new AbortController();
  const limited = AbortSignal.any([signal, giveUp.signal]);
  let belowReady: Promise<unknown> = Promise.resolve();
  const all = image.layers.map((layer, index) => {
    const [diffId = '', chainId = ''] = [diffIds[index], chain[index]];
    if (layers.has(chainId)) {
      layer.onPresent?.(); // it stays, because it is held
      return undefined;
    }
    const stack = { diffId, chainId, below: chain.slice(0, index), belowReady };
    const added = slots.run(
      () =>
        traceWork(
          () => ({ name: 'pkg.unpack.unpacker.unpackLayer', facts: { 'layer.media.digest': layer.digest } }),
          () => layers.ensure(stack, layer, limited),
        ),
      limited,
    );
    belowReady = added;
    added.catch((error: unknown) => giveUp.abort(error));
    return added;
  });
  // Wait for all layers before returning: nothing may be written after the caller got its answer.
  const ended = await Promise.allSettled(all);
  signal.throwIfAborted();
  if (giveUp.signal.aborted) throw giveUp.signal.reason;
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}

async function recordedLayers(layers: LayerStore, chain: readonly string[]): Promise<readonly RecordedLayer[]> {
  return Promise.all(chain.map(async (chainId) => ({ chainId, ...(await layers.describe(chainId)).usage })));
}

function checkLayers({ layers }: IncomingImage, diffIds: readonly string[]): void {
  if (layers.length > MAX_LAYERS) throw new SyntaxError(`image has ${layers.length} layers, more than ${MAX_LAYERS}`);
  if (layers.length !== diffIds.length) {
    throw new SyntaxError(`image has ${layers.length} layers, but its configuration lists ${diffIds.length}`);
  }
  const wrong = diffIds.find((diffId) => !isDigest(diffId) || !diffId.startsWith('sha256:'));
  if (wrong !== undefined) throw new DigestError(`unsupported digest ${JSON.stringify(wrong)}`);
}

/** The configuration is stored as text and must give the same bytes when the image is exported. */
function checkEncoding(config: Uint8Array): void {
  if (!isUtf8(config)) throw new SyntaxError('image configuration: not UTF-8');
}

function fullReference(reference: string): string {
  const whole = normalizeReference(reference);
  if (whole === undefined) throw new SyntaxError(`invalid image reference ${JSON.stringify(reference)}`);
  return whole;
}
