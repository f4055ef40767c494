import type { OnReadOpts, Socket } from 'node:net';

/** The limit of one read. */
const READ_BYTES = 64 * 1024;

/**
 * The chunks that a socket receives, all in the same buffer: allocating one per read costs as much as processing it. A chunk
 * is valid until the next one is requested, and nothing is read meanwhile.
 */
export class ReusedBufferChunks implements AsyncIterable<Uint8Array> {
  /** The `onread` option of the socket. */
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

  /** Must be called before the socket connects. */
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
