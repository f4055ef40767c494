import { type ByteStream, NetworkError } from '../../host/network.ts';
import { encodeDataHeader } from './encode-frame.ts';
import { FRAME_HEADER_BYTES } from './spdy-frames.ts';

/** Of one frame. What a socket gives in one piece, so that a piece becomes a frame. */
const MOST_PAYLOAD_BYTES = 64 * 1024;

/** What goes out in one write. */
const BATCH_BYTES = 2 * (FRAME_HEADER_BYTES + MOST_PAYLOAD_BYTES);

type Item =
  | { readonly kind: 'control'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'data';
      readonly streamId: number;
      readonly data: Uint8Array;
      readonly fin: boolean;
      readonly handedOver: PromiseWithResolvers<void>;
      written: number;
    };

/**
 * Frames on their way out, in order. The only writer of the transport.
 * 1. It never waits for what comes in.
 * 2. What is given in one turn of the event loop, or while a write is under way, goes out together.
 * 3. Data is copied once, behind its head, into a buffer that is used again when the transport has taken it.
 */
export class FrameWriter {
  readonly #transport: Pick<ByteStream, 'write'>;
  readonly #onLost: () => void;
  #batch: Uint8Array | undefined;
  #queue: Item[] = [];
  #controlBytes = 0;
  #failure: NetworkError | undefined;
  #draining: Promise<void> | undefined;

  /** `onLost` is called once, when the transport takes nothing any more. */
  constructor(transport: Pick<ByteStream, 'write'>, onLost: () => void) {
    this.#transport = transport;
    this.#onLost = onLost;
  }

  /** Of control frames that the transport has not taken. */
  get controlBytes(): number {
    return this.#controlBytes;
  }

  control(bytes: Uint8Array): void {
    if (this.#failure) return;
    this.#controlBytes += bytes.length;
    this.#queue.push({ kind: 'control', bytes });
    this.#draining ??= this.#drain();
  }

  /** Resolves when the transport has taken all of it. `data` is not to be changed before. */
  data(streamId: number, data: Uint8Array, fin: boolean): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const handedOver = Promise.withResolvers<void>();
    this.#queue.push({ kind: 'data', streamId, data, fin, handedOver, written: 0 });
    this.#draining ??= this.#drain();
    return handedOver.promise;
  }

  /** Forgets what the stream has still to say. */
  withdraw(streamId: number, reason: NetworkError): void {
    const isOfStream = (item: Item): boolean => item.kind === 'data' && item.streamId === streamId;
    const withdrawn = this.#queue.filter(isOfStream);
    if (withdrawn.length === 0) return;
    this.#queue = this.#queue.filter((item) => !isOfStream(item));
    reject(withdrawn, reason);
  }

  /** Resolves when everything is handed over, or lost. */
  async drained(): Promise<void> {
    await this.#draining;
  }

  /** Forgets everything. */
  fail(reason: NetworkError): void {
    this.#failure ??= reason;
    const waiting = this.#queue;
    this.#queue = [];
    reject(waiting, this.#failure);
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // lets the rest of this turn come along
    while (this.#queue.length > 0) {
      const { bytes, complete } = this.#fillBatch();
      try {
        await this.#transport.write(bytes);
        for (const item of complete) this.#handOver(item);
      } catch (error) {
        this.fail(new NetworkError('EPIPE', 'the connection is lost', { cause: error }));
        reject(complete, this.#failure);
        this.#onLost();
      }
    }
    this.#draining = undefined;
  }

  #handOver(item: Item): void {
    if (item.kind === 'control') this.#controlBytes -= item.bytes.length;
    else item.handedOver.resolve();
  }

  /** As much as fits; a frame is only cut when it is larger than a frame may be. */
  #fillBatch(): { readonly bytes: Uint8Array; readonly complete: readonly Item[] } {
    this.#batch ??= new Uint8Array(BATCH_BYTES);
    const batch = this.#batch;
    const complete: Item[] = [];
    let used = 0;
    for (let item = this.#queue[0]; item; item = this.#queue[0]) {
      const size = sizeOfNext(item);
      if (used + size > BATCH_BYTES) break;
      if (writeNext(item, batch, used)) {
        complete.push(item);
        this.#queue.shift();
      }
      used += size;
    }
    return { bytes: batch.subarray(0, used), complete };
  }
}

function sizeOfNext(item: Item): number {
  if (item.kind === 'control') return item.bytes.length;
  return FRAME_HEADER_BYTES + Math.min(item.data.length - item.written, MOST_PAYLOAD_BYTES);
}

/** The next frame of it. Tells whether it was the last one. */
function writeNext(item: Item, batch: Uint8Array, at: number): boolean {
  if (item.kind === 'control') {
    batch.set(item.bytes, at);
    return true;
  }
  const payload = item.data.subarray(item.written, item.written + MOST_PAYLOAD_BYTES);
  item.written += payload.length;
  const isLast = item.written === item.data.length;
  encodeDataHeader(batch, at, { streamId: item.streamId, length: payload.length, fin: item.fin && isLast });
  batch.set(payload, at + FRAME_HEADER_BYTES);
  return isLast;
}

function reject(items: readonly Item[], reason: unknown): void {
  for (const item of items) if (item.kind === 'data') item.handedOver.reject(reason);
}
