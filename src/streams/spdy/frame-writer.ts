import { type ByteStream, NetworkError } from '../../host/network.ts';
import { encodeDataHeader } from './encode-frame.ts';
import { FRAME_HEADER_BYTES } from './spdy-frames.ts';

/** The limit of one frame. The size of one read from a socket, so that a chunk becomes a frame. */
const MAX_PAYLOAD_BYTES = 64 * 1024;

/** The limit of one write. */
const BATCH_BYTES = 2 * (FRAME_HEADER_BYTES + MAX_PAYLOAD_BYTES);

type Item =
  | { readonly kind: 'control'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'data';
      readonly streamId: number;
      readonly data: Uint8Array;
      readonly fin: boolean;
      readonly taken: PromiseWithResolvers<void>;
      written: number;
    };

/**
 * Sends frames in order. The only writer of the transport.
 * 1. Sending never waits for receiving.
 * 2. Frames that are added in one turn of the event loop, or while a write is pending, are sent together.
 * 3. Data is copied once, behind its header, into a buffer that is reused when the transport has taken it.
 */
export class FrameWriter {
  readonly #transport: Pick<ByteStream, 'write'>;
  readonly #onLost: () => void;
  #batch: Uint8Array | undefined;
  #queue: Item[] = [];
  #controlBytes = 0;
  #failure: NetworkError | undefined;
  #draining: Promise<void> | undefined;

  /** `onLost` is called once, when the transport fails. */
  constructor(transport: Pick<ByteStream, 'write'>, onLost: () => void) {
    this.#transport = transport;
    this.#onLost = onLost;
  }

  /** The bytes of control frames that the transport has not taken. */
  get controlBytes(): number {
    return this.#controlBytes;
  }

  control(bytes: Uint8Array): void {
    if (this.#failure) return;
    this.#controlBytes += bytes.length;
    this.#queue.push({ kind: 'control', bytes });
    this.#draining ??= this.#drain();
  }

  /** Resolves when the transport has taken all of it. `data` must not be changed before. */
  data(streamId: number, data: Uint8Array, fin: boolean): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const taken = Promise.withResolvers<void>();
    this.#queue.push({ kind: 'data', streamId, data, fin, taken, written: 0 });
    this.#draining ??= this.#drain();
    return taken.promise;
  }

  /** Drops the unsent data of a stream. */
  withdraw(streamId: number, reason: NetworkError): void {
    const isOfStream = (item: Item): boolean => item.kind === 'data' && item.streamId === streamId;
    const withdrawn = this.#queue.filter(isOfStream);
    if (withdrawn.length === 0) return;
    this.#queue = this.#queue.filter((item) => !isOfStream(item));
    reject(withdrawn, reason);
  }

  /** Resolves when everything is sent or dropped. */
  async drained(): Promise<void> {
    await this.#draining;
  }

  /** Drops everything. */
  fail(reason: NetworkError): void {
    this.#failure ??= reason;
    const waiting = this.#queue;
    this.#queue = [];
    reject(waiting, this.#failure);
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // collects the frames of this turn
    while (this.#queue.length > 0) {
      const { bytes, complete } = this.#fillBatch();
      try {
        await this.#transport.write(bytes);
        for (const item of complete) this.#settle(item);
      } catch (error) {
        this.fail(new NetworkError('EPIPE', 'the connection is lost', { cause: error }));
        reject(complete, this.#failure);
        this.#onLost();
      }
    }
    this.#draining = undefined;
  }

  #settle(item: Item): void {
    if (item.kind === 'control') this.#controlBytes -= item.bytes.length;
    else item.taken.resolve();
  }

  /** As many frames as fit; data is split only into frames of the maximum size. */
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
  return FRAME_HEADER_BYTES + Math.min(item.data.length - item.written, MAX_PAYLOAD_BYTES);
}

/** Writes the next frame of the item; returns whether it was the last one. */
function writeNext(item: Item, batch: Uint8Array, at: number): boolean {
  if (item.kind === 'control') {
    batch.set(item.bytes, at);
    return true;
  }
  const payload = item.data.subarray(item.written, item.written + MAX_PAYLOAD_BYTES);
  item.written += payload.length;
  const isLast = item.written === item.data.length;
  encodeDataHeader(batch, at, { streamId: item.streamId, length: payload.length, fin: item.fin && isLast });
  batch.set(payload, at + FRAME_HEADER_BYTES);
  return isLast;
}

function reject(items: readonly Item[], reason: unknown): void {
  for (const item of items) if (item.kind === 'data') item.taken.reject(reason);
}
