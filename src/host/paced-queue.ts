import { MessageQueue } from './message-queue.ts';

/** Messages whose sender waits while the reader is too far behind. */
export class PacedQueue extends MessageQueue {
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

  /** Something to wait for while the reader is too far behind. */
  get room(): Promise<void> | undefined {
    return this.#room?.promise;
  }

  /** Resolves when there is room for more. */
  async put(message: Uint8Array): Promise<void> {
    this.push(message);
    await this.room;
  }

  /** Nobody waits any more. */
  override end(): void {
    super.end();
    this.#room?.resolve();
  }
}
