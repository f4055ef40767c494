import { createHash } from 'node:crypto';
import { BackpressureQueue } from '../../host/backpressure-queue.ts';
import { type ByteStream, NetworkError, type WebSocketConnection } from '../../host/network.ts';
import {
  CLOSE_STATUS,
  encodeClose,
  encodeMessage,
  encodePong,
  WebSocketDecoder,
  type WebSocketFrame,
  WebSocketProtocolError,
} from './web-socket-frames.ts';

/** RFC 6455. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The value of `Sec-WebSocket-Accept` for the client's `Sec-WebSocket-Key`. */
export function webSocketAccept(key: string): string {
  return createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64');
}

/**
 * The server's end of a WebSocket on a byte stream, after the handshake. Becomes the only reader and writer of the stream. The
 * package `ws` needs a socket of Node.js, and the node's TLS server hands out byte streams.
 *
 * 1. Back-pressure: above 1 MiB of unread messages nothing more is read, and then no ping is answered either.
 * 2. After `close` and after an error everything received is dropped, until the client ends the stream too; the owner limits
 *    that time by closing the stream.
 */
export function serveWebSocket(stream: ByteStream, protocol: string): WebSocketConnection {
  const socket = new ServedWebSocket(stream, protocol);
  void socket.receive();
  return socket;
}

class ServedWebSocket implements WebSocketConnection {
  readonly protocol: string;
  readonly #stream: ByteStream;
  readonly #messages = new BackpressureQueue();
  readonly #closed = Promise.withResolvers<void>();
  #isClosing = false;

  constructor(stream: ByteStream, protocol: string) {
    this.#stream = stream;
    this.protocol = protocol;
  }

  get messages(): AsyncIterable<Uint8Array> {
    return this.#messages;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  async send(message: Uint8Array | string): Promise<void> {
    if (this.#isClosing) throw new NetworkError('EPIPE', 'the WebSocket connection is closed');
    await this.#stream.write(encodeMessage(message));
  }

  close(): void {
    this.#close(CLOSE_STATUS.normal);
  }

  /** Reads until the client ends the stream. Never rejects. */
  async receive(): Promise<void> {
    const decoder = new WebSocketDecoder();
    try {
      for await (const chunk of this.#stream.chunks) if (!this.#isClosing) await this.#decode(decoder, chunk);
    } catch {
      // The connection has failed: the client is gone.
    }
    this.#isClosing = true;
    this.#messages.end();
    this.#stream.close();
    this.#closed.resolve();
  }

  async #decode(decoder: WebSocketDecoder, chunk: Uint8Array): Promise<void> {
    try {
      for (const frame of decoder.frames(chunk)) await this.#handle(frame);
    } catch (error) {
      if (!(error instanceof WebSocketProtocolError)) throw error;
      this.#close(error.status);
    }
  }

  async #handle(frame: WebSocketFrame): Promise<void> {
    if (this.#isClosing) return;
    if (frame.kind === 'message') await this.#messages.put(frame.data);
    else if (frame.kind === 'ping') await this.#stream.write(encodePong(frame.data));
    else if (frame.kind === 'close') this.#close(CLOSE_STATUS.normal);
  }

  #close(status: number): void {
    this.#messages.end(); // also releases the reader that waits for room
    if (this.#isClosing) return;
    this.#isClosing = true;
    // Not awaited: `end` follows in order, and a client that is gone ends the stream.
    this.#stream.write(encodeClose(status)).catch(() => undefined);
    this.#stream.end();
    this.#closed.resolve();
  }
}
