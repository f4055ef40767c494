import { isUtf8 } from 'node:buffer';
import { Slots } from '../../base/slots.ts';
import { FileSystemError } from '../../host/file-system.ts';
import { chainIds, DigestError, digestOf, isDigest } from '../storage/digest.ts';
import type { LayerHolds } from '../storage/layer-holds.ts';
import type { IncomingLayer, LayerStore } from '../storage/layer-store.ts';
import { SpaceError } from '../storage/space-guard.ts';
import { parseImageConfig } from './image-config.ts';
import type { ImageRecords, RecordedLayer } from './image-records.ts';
import { normalizedReference } from './image-reference.ts';
import type { StoredImage } from './image-store.ts';
import { volumesFault } from './volume-paths.ts';
import { isWrongContent } from './wrong-content.ts';

/** An image on its way in, from a registry or an archive. */
export interface IncomingImage {
  /** Names with a tag or a digest, short or whole. */
  readonly references: readonly string[];
  /** As it came; its digest is the image's id. */
  readonly config: Uint8Array;
  /** The lowest first, as many as the configuration has diff ids. */
  readonly layers: readonly IncomingLayer[];
  /** Of everything as it came. */
  readonly sizeBytes: number;
}

/** The one way by which images come in. */
export interface ImageIngest {
  /**
   * Unpacks the layers that are not here, checks all of them, and records the image: from then on it is visible. Layers that
   * are here are not opened, and told so at once. Rejects with a `DigestError`, `TarError`, `CutOffError` or `SyntaxError` for
   * an image that is wrong, with what `open` or `failed` threw, or with the signal's reason. Of an image that is wrong, or
   * for which there is no room, nothing stays; otherwise layers that were whole by then are kept for the next try.
   */
  ingest(image: IncomingImage, signal: AbortSignal): Promise<StoredImage>;
}

export interface ImageIngestDeps {
  readonly layers: LayerStore;
  readonly records: ImageRecords;
  readonly holds: LayerHolds;
  /** Takes those of these layers away that nobody needs. */
  readonly discardLayers: (chain: readonly string[]) => Promise<void>;
}

/** As many are unpacked at once, over all images. */
const LAYERS_AT_ONCE = 3;
/** As many fit into the options of one mount (a page), each by a descriptor. Docker makes no image with more than 127. */
const MOST_LAYERS = 160;

export function createImageIngest(deps: ImageIngestDeps): ImageIngest {
  const slots = new Slots(LAYERS_AT_ONCE);

  return {
    async ingest(image, signal) {
      const id = digestOf(image.config);
      refuseOtherThanText(image.config);
      const { config, diffIds } = parseImageConfig(image.config);
      refuseMismatch(image, diffIds);
      const fault = volumesFault(config.volumes);
      if (fault !== undefined) throw new SyntaxError(fault);
      const references = image.references.map(wholeReference);
      const chain = chainIds(diffIds);
      try {
        using _ = deps.holds.hold(chain);
        await addLayers({ ...deps, slots }, image, { diffIds, chain }, signal);
        const layers = await recordedLayers(deps.layers, chain);
        const record = { id, references, sizeBytes: image.sizeBytes, config, layers };
        return await deps.records.add(record, image.config);
      } catch (error) {
        if (isHopeless(error)) await deps.discardLayers(chain);
        throw error;
      }
    },
  };
}

/** Whether the next try would end the same way. */
function isHopeless(error: unknown): boolean {
  return isWrongContent(error) || error instanceof SpaceError || error instanceof FileSystemError;
}

interface Layers {
  readonly diffIds: readonly string[];
  readonly chain: readonly string[];
}

/** Side by side; each gets its place only when those below have theirs. */
async function addLayers(
  { layers, slots }: { readonly layers: LayerStore; readonly slots: Slots },
  image: IncomingImage,
  { diffIds, chain }: Layers,
  signal: AbortSignal,
): Promise<void> {
  const giveUp = new AbortController();
  const limited = AbortSignal.any([signal, giveUp.signal]);
  let belowReady: Promise<unknown> = Promise.resolve();
  const all = image.layers.map((layer, index) => {
    const [diffId = '', chainId = ''] = [diffIds[index], chain[index]];
    if (layers.has(chainId)) {
      layer.isHere?.(); // and stays: it is held
      return undefined;
    }
    const stack = { diffId, chainId, below: chain.slice(0, index), belowReady };
    const added = slots.run(() => layers.ensure(stack, layer, limited), limited);
    belowReady = added;
    added.catch((error: unknown) => giveUp.abort(error));
    return added;
  });
  // Every one has ended before anybody is told: nothing is written behind the caller's back.
  const ended = await Promise.allSettled(all);
  signal.throwIfAborted();
  if (giveUp.signal.aborted) throw giveUp.signal.reason;
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}

async function recordedLayers(layers: LayerStore, chain: readonly string[]): Promise<readonly RecordedLayer[]> {
  return Promise.all(chain.map(async (chainId) => ({ chainId, ...(await layers.describe(chainId)).usage })));
}

function refuseMismatch({ layers }: IncomingImage, diffIds: readonly string[]): void {
  if (layers.length > MOST_LAYERS) throw new SyntaxError(`image has ${layers.length} layers, more than ${MOST_LAYERS}`);
  if (layers.length !== diffIds.length) {
    throw new SyntaxError(`image has ${layers.length} layers, and its configuration ${diffIds.length}`);
  }
  const wrong = diffIds.find((diffId) => !isDigest(diffId) || !diffId.startsWith('sha256:'));
  if (wrong !== undefined) throw new DigestError(`unsupported digest ${JSON.stringify(wrong)}`);
}

/** It is kept as text, and has to be the same bytes again when somebody saves the image. */
function refuseOtherThanText(config: Uint8Array): void {
  if (!isUtf8(config)) throw new SyntaxError('image configuration: not UTF-8');
}

function wholeReference(reference: string): string {
  const whole = normalizedReference(reference);
  if (whole === undefined) throw new SyntaxError(`invalid image reference ${JSON.stringify(reference)}`);
  return whole;
}
