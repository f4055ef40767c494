import { MessageQueue } from '../message-queue.ts';
import { type ByteStream, NetworkError } from '../network.ts';

/** Both ends of one connection; `severed` ends it as the death of either side does. */
export function byteStreamPair(severed?: AbortSignal): readonly [ByteStream, ByteStream] {
  const [forth, back] = [new Lane(), new Lane()];
  const close = (): void => {
    forth.close();
    back.close();
    severed?.removeEventListener('abort', close);
  };
  severed?.addEventListener('abort', close, { once: true });
  return [
    { chunks: back.queue, write: (data) => forth.write(data), close },
    { chunks: forth.queue, write: (data) => back.write(data), close },
  ];
}

/** One direction. A writer waits while the reader is too far behind. */
class Lane {
  readonly queue = new MessageQueue({
    pause: () => {
      this.#room ??= Promise.withResolvers<void>();
    },
    resume: () => {
      this.#room?.resolve();
      this.#room = undefined;
    },
  });
  #room: PromiseWithResolvers<void> | undefined;
  #state: 'open' | 'closed' = 'open';

  close(): void {
    this.#state = 'closed';
    this.#room?.resolve();
    this.queue.end();
  }

  async write(data: Uint8Array): Promise<void> {
    await this.#room?.promise;
    if (this.#state === 'closed') throw new NetworkError('EPIPE', 'the connection is closed');
    if (data.byteLength > 0) this.queue.push(data.slice());
  }
}
