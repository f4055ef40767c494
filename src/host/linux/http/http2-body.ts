import { type ClientHttp2Stream, constants } from 'node:http2';
import { NetworkError } from '../../network.ts';
import { asNetworkError } from '../net/network-error.ts';

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants;

/** Read ahead of the consumer; above this the stream is paused. */
const READ_AHEAD_BYTES = 64 * 1024;

/**
 * The body of a response. It is read ahead of the consumer: Node.js drops buffered data when the connection ends after the
 * last byte, as an API server does after a 401. Node.js also reports a closed connection and a cancelled exchange as the end
 * of the body: only the RST_STREAM code distinguishes them.
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

  /** Must be called before data can arrive. */
  static of(stream: ClientHttp2Stream, signal: AbortSignal): Http2Body {
    const body = new Http2Body(stream, signal);
    stream.on('data', (chunk: Uint8Array) => body.#take(chunk));
    stream.once('end', () => body.#finish(stream.rstCode === NGHTTP2_NO_ERROR ? 'whole' : undefined));
    stream.once('error', (error) => body.#finish(asStreamError(error)));
    stream.once('close', () => body.#finish(undefined));
    return body;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      if (this.#end !== 'whole') this.#signal.throwIfAborted();
      const value = this.#chunks.shift();
      if (value !== undefined) {
        this.#bytes -= value.length;
        if (this.#bytes < READ_AHEAD_BYTES && this.#stream.isPaused()) this.#stream.resume();
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
    if (this.#bytes >= READ_AHEAD_BYTES) this.#stream.pause();
    this.#wake();
  }

  /** The first call decides. */
  #finish(end: 'whole' | NetworkError | undefined): void {
    if (this.#end !== undefined) return;
    this.#end = end ?? new NetworkError('ECONNRESET', 'the response was interrupted');
    this.#wake();
  }
}

/** For an established connection: `ETIMEDOUT` and the like mean that none was established. */
export function asStreamError(error: unknown): NetworkError {
  const { code, message } = asNetworkError(error);
  return new NetworkError(code.startsWith('ERR_') ? code : 'ECONNRESET', message, { cause: error });
}
