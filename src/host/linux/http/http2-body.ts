import { type ClientHttp2Stream, constants } from 'node:http2';
import { NetworkError } from '../../network.ts';
import { asNetworkError } from '../net/network-error.ts';

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants;

/** What is taken from Node.js before anybody reads it; above that the server is made to wait. */
const AHEAD_BYTES = 64 * 1024;

/**
 * The body of an answer. It is taken as it comes and not when it is read: Node.js drops what it still has when the connection
 * ends after the last byte, as an API server ends it after a 401. And it shows a connection that ends, or an exchange that the
 * server cancels, as the end of the answer: only the code tells.
 */
export class Http2Body implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #stream: ClientHttp2Stream;
  readonly #signal: AbortSignal;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #end: 'whole' | NetworkError | undefined;
  #wake = (): void => {};

  private constructor(stream: ClientHttp2Stream, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
  }

  /** Before anything can have come. */
  static of(stream: ClientHttp2Stream, signal: AbortSignal): Http2Body {
    const body = new Http2Body(stream, signal);
    stream.on('data', (chunk: Uint8Array) => body.#take(chunk));
    stream.once('end', () => body.#over(stream.rstCode === NGHTTP2_NO_ERROR ? 'whole' : undefined));
    stream.once('error', (error) => body.#over(brokenBy(error)));
    stream.once('close', () => body.#over(undefined));
    return body;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      if (this.#end !== 'whole') this.#signal.throwIfAborted();
      const value = this.#chunks.shift();
      if (value !== undefined) {
        this.#bytes -= value.length;
        if (this.#bytes < AHEAD_BYTES && this.#stream.isPaused()) this.#stream.resume();
        return { done: false, value };
      }
      if (this.#end === 'whole') return { done: true, value: undefined };
      if (this.#end) throw this.#end;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#stream.close(NGHTTP2_CANCEL);
    this.#chunks = [];
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= AHEAD_BYTES) this.#stream.pause();
    this.#wake();
  }

  /** What comes first is what it was. */
  #over(how: 'whole' | NetworkError | undefined): void {
    if (this.#end !== undefined) return;
    this.#end = how ?? new NetworkError('ECONNRESET', 'the answer broke off');
    this.#wake();
  }
}

/** Of a connection that stood: `ETIMEDOUT` and the like are left to those that never did. */
export function brokenBy(error: unknown): NetworkError {
  const failure = asNetworkError(error);
  return failure.code.startsWith('ERR_') ? failure : new NetworkError('ECONNRESET', failure.message, { cause: error });
}
