import type { OnReadOpts, Socket } from 'node:net';

/** What one read takes at most. */
const READ_BYTES = 64 * 1024;

/**
 * What a socket receives, always in the same buffer: a fresh one for each read costs as much as what is done with it. A chunk is
 * good until the next one is asked for, and nothing is read meanwhile.
 */
export class ReusedBufferChunks implements AsyncIterable<Uint8Array> {
  /** For who makes the socket. */
  readonly onread: OnReadOpts = {
    buffer: new Uint8Array(READ_BYTES),
    callback: (size, buffer) => {
      this.#received = buffer.subarray(0, size);
      this.#wake?.();
      return false; // until `resume`
    },
  };
  #received: Uint8Array | undefined;
  #socket: Socket | undefined;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  /** To be called before the socket connects. */
  follow(socket: Socket): void {
    this.#socket = socket;
    const end = (): void => {
      this.#hasEnded = true;
      this.#wake?.();
    };
    socket.once('end', end);
    socket.once('close', end);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const chunk = this.#received;
      if (chunk) {
        this.#received = undefined;
        yield chunk;
        this.#socket?.resume();
      } else if (this.#hasEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
