import { BackpressureQueue } from '../backpressure-queue.ts';
import { NetworkError } from '../network.ts';

const CLOSED = { bytes: 'the connection is closed', messages: 'the WebSocket connection is closed' };

/** One direction of an in-memory connection. The sender waits while the reader is too far behind. */
export class DirectionalQueue {
  readonly queue = new BackpressureQueue();
  /** Empty byte chunks are dropped; a message may be empty. */
  readonly #carries: 'bytes' | 'messages';
  #state: 'open' | 'ended' | 'closed' = 'open';
  #sending = 0;

  constructor(carries: 'bytes' | 'messages') {
    this.#carries = carries;
  }

  close(): void {
    this.#state = 'closed';
    this.queue.end();
  }

  /** Ends after the pending sends. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    if (this.#sending === 0) this.queue.end();
  }

  async send(data: Uint8Array): Promise<void> {
    if (this.#state !== 'open') throw this.#closedError();
    this.#sending++;
    await this.queue.room;
    this.#sending--;
    this.#deliver(data);
  }

  #deliver(data: Uint8Array): void {
    if (this.#state === 'closed') throw this.#closedError();
    if (this.#carries === 'messages' || data.byteLength > 0) this.queue.push(data.slice());
    if (this.#state === 'ended' && this.#sending === 0) this.queue.end();
  }

  #closedError(): NetworkError {
    return new NetworkError('EPIPE', CLOSED[this.#carries]);
  }
}
