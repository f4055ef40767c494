/** Above this much unread data the sender is paused. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** The memory that a message takes beside its bytes: a sender may send empty messages. */
const BYTES_PER_MESSAGE = 256;

/** Pauses and resumes the sender. Both are idempotent. */
export interface FlowControl {
  pause(): void;
  resume(): void;
}

/**
 * A queue between the socket that receives messages and the one reader.
 * 1. Messages received before the end are still read; later ones are dropped.
 * 2. An error is thrown after everything before it has been read.
 * 3. Above `MAX_UNREAD_BYTES` the sender is paused until the reader has taken everything.
 */
export class MessageQueue implements AsyncIterable<Uint8Array> {
  readonly #flow: FlowControl;
  readonly #unread: Uint8Array[] = [];
  #unreadBytes = 0;
  #end: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(flow: FlowControl) {
    this.#flow = flow;
  }

  push(message: Uint8Array): void {
    if (this.#end) return;
    this.#unread.push(message);
    this.#unreadBytes += message.byteLength + BYTES_PER_MESSAGE;
    if (this.#unreadBytes > MAX_UNREAD_BYTES) this.#flow.pause();
    this.#wake?.();
  }

  end(): void {
    this.#end ??= {};
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      for (let message = this.#take(); message; message = this.#take()) yield message;
      if (this.#end) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if ('error' in this.#end) throw this.#end.error;
  }

  #take(): Uint8Array | undefined {
    const message = this.#unread.shift();
    if (message) this.#unreadBytes -= message.byteLength + BYTES_PER_MESSAGE;
    if (this.#unread.length === 0) this.#flow.resume();
    return message;
  }
}
