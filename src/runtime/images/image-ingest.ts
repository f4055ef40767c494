import { Slots } from '../../base/slots.ts';
import type { IncomingLayer, LayerStore } from '../storage/layer-store.ts';
import { chainIds, DigestError, digestOf, isDigest } from './digest.ts';
import { parseImageConfig } from './image-config.ts';
import type { ImageRecords, RecordedLayer } from './image-records.ts';
import { normalizedReference } from './image-reference.ts';
import type { StoredImage } from './image-store.ts';

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
   * are here are not opened. Rejects with a `DigestError`, `TarError`, `CutOffError` or `SyntaxError` for an image that
   * is wrong, with what `open` threw, or with the signal's reason; layers that were whole by then are kept for the next try
   * until `collect`.
   */
  ingest(image: IncomingImage, signal: AbortSignal): Promise<StoredImage>;
}

export interface ImageIngestDeps {
  readonly layers: LayerStore;
  readonly records: ImageRecords;
  /** Layers that nobody collects while an image comes in. */
  readonly arriving: Map<string, number>;
}

/** As many are unpacked at once, over all images. */
const LAYERS_AT_ONCE = 3;

export function createImageIngest(deps: ImageIngestDeps): ImageIngest {
  const slots = new Slots(LAYERS_AT_ONCE);

  return {
    async ingest(image, signal) {
      const id = digestOf(image.config);
      const { config, diffIds } = parseImageConfig(image.config);
      refuseMismatch(image, diffIds);
      const references = image.references.map(wholeReference);
      const chain = chainIds(diffIds);
      hold(deps.arriving, chain, 1);
      try {
        await addLayers({ ...deps, slots }, image, { diffIds, chain }, signal);
        const layers = await recordedLayers(deps.layers, chain);
        const record = { id, references, sizeBytes: image.sizeBytes, config, layers };
        return await deps.records.add(record, image.config);
      } finally {
        hold(deps.arriving, chain, -1);
      }
    },
  };
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
  if (layers.length !== diffIds.length) {
    throw new SyntaxError(`image has ${layers.length} layers, and its configuration ${diffIds.length}`);
  }
  const wrong = diffIds.find((diffId) => !isDigest(diffId) || !diffId.startsWith('sha256:'));
  if (wrong !== undefined) throw new DigestError(`unsupported digest ${JSON.stringify(wrong)}`);
}

function wholeReference(reference: string): string {
  const whole = normalizedReference(reference);
  if (whole === undefined) throw new SyntaxError(`invalid image reference ${JSON.stringify(reference)}`);
  return whole;
}

function hold(arriving: Map<string, number>, chain: readonly string[], change: 1 | -1): void {
  for (const chainId of chain) {
    const count = (arriving.get(chainId) ?? 0) + change;
    if (count === 0) arriving.delete(chainId);
    else arriving.set(chainId, count);
  }
}
