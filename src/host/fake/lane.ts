import { MessageQueue } from '../message-queue.ts';
import { NetworkError } from '../network.ts';

const CLOSED = { bytes: 'the connection is closed', messages: 'the WebSocket connection is closed' };

/** One direction of a connection. A sender waits while the reader is too far behind. */
export class Lane {
  readonly queue = new MessageQueue({
    pause: () => {
      this.#room ??= Promise.withResolvers<void>();
    },
    resume: () => {
      this.#room?.resolve();
      this.#room = undefined;
    },
  });
  /** No bytes are nothing to read; a message may be empty. */
  readonly #carries: 'bytes' | 'messages';
  #room: PromiseWithResolvers<void> | undefined;
  #state: 'open' | 'closed' = 'open';

  constructor(carries: 'bytes' | 'messages') {
    this.#carries = carries;
  }

  close(): void {
    this.#state = 'closed';
    this.#room?.resolve();
    this.queue.end();
  }

  async send(data: Uint8Array): Promise<void> {
    await this.#room?.promise;
    if (this.#state === 'closed') throw new NetworkError('EPIPE', CLOSED[this.#carries]);
    if (this.#carries === 'messages' || data.byteLength > 0) this.queue.push(data.slice());
  }
}
