import { MessageQueue } from '../../host/message-queue.ts';

/** One of several streams that share a connection. Who fills it waits while the reader is too far behind. */
export class PacedQueue {
  readonly #queue = new MessageQueue({
    pause: () => {
      this.#room ??= Promise.withResolvers<void>();
    },
    resume: () => {
      this.#room?.resolve();
      this.#room = undefined;
    },
  });
  #room: PromiseWithResolvers<void> | undefined;

  get chunks(): AsyncIterable<Uint8Array> {
    return this.#queue;
  }

  /** What comes after the end is dropped. */
  async put(data: Uint8Array): Promise<void> {
    this.#queue.push(data);
    await this.#room?.promise;
  }

  end(): void {
    this.#queue.end();
    this.#room?.resolve();
  }
}
