import { MessageQueue } from './message-queue.ts';

/** A queue whose sender waits while the reader is too far behind. */
export class BackpressureQueue extends MessageQueue {
  #room: PromiseWithResolvers<void> | undefined;

  constructor() {
    super({
      pause: () => {
        this.#room ??= Promise.withResolvers<void>();
      },
      resume: () => {
        this.#room?.resolve();
        this.#room = undefined;
      },
    });
  }

  /** Pending while the reader is too far behind; otherwise `undefined`. */
  get room(): Promise<void> | undefined {
    return this.#room?.promise;
  }

  /** Resolves when the queue accepts more. */
  async put(message: Uint8Array): Promise<void> {
    this.push(message);
    await this.room;
  }

  /** Also releases waiting senders. */
  override end(): void {
    super.end();
    this.#room?.resolve();
  }
}
