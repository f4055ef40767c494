import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../clock.ts';
import { NetworkError } from '../../network.ts';
import { asNetworkError } from '../net/network-error.ts';

/** Assumed before the server's SETTINGS arrive, as in Go's client. */
const DEFAULT_MAX_STREAMS = 100;
/** Receive windows of a stream and of the connection: with 50 ms round trips, 20 MB a second for one stream. */
const STREAM_WINDOW = 1024 * 1024;
const CONNECTION_WINDOW = 4 * STREAM_WINDOW;
/** Node's limit for HTTP/1.1. */
const MAX_HEADERS = 16 * 1024;
const CHECK_MS = 15_000;
/** As in client-go: after 30 seconds without data the server gets a PING, and 15 seconds to respond. */
const PING_AFTER_CHECKS = 2;
const CLOSE_AFTER_CHECKS = 3;

export interface ConnectionWatcher {
  /** An exchange has ended. */
  onStreamClosed(on: Http2Connection): void;
  /** The connection has ended. */
  onClosed(closed: Http2Connection): void;
}

/** One established HTTP/2 connection. */
export class Http2Connection {
  /** Resolves when the server's SETTINGS have arrived, or the connection has ended. */
  readonly settled: Promise<void>;
  /** Whether the server has responded on it before: then a broken connection is not caused by the request. */
  hasResponded = false;
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #watcher: ConnectionWatcher;
  #open = 0;
  #isSettled = false;
  #lastProcessed = Number.POSITIVE_INFINITY;

  private constructor(session: ClientHttp2Session, socket: TLSSocket, watcher: ConnectionWatcher) {
    this.#session = session;
    this.#socket = socket;
    this.#watcher = watcher;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.settled = promise;
    const onSettled = (): void => {
      this.#isSettled = true;
      resolve();
    };
    session.once('remoteSettings', onSettled);
    session.on('error', () => {}); // each exchange gets its own error
    session.on('goaway', (_, lastStreamId) => {
      this.#lastProcessed = lastStreamId;
    });
    session.once('close', () => {
      onSettled();
      watcher.onClosed(this);
    });
  }

  /** On a new socket whose handshake has negotiated HTTP/2. */
  static async over(socket: TLSSocket, clock: Clock, watcher: ConnectionWatcher): Promise<Http2Connection> {
    const session = connect('https://server', {
      createConnection: () => socket,
      peerMaxConcurrentStreams: DEFAULT_MAX_STREAMS,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: MAX_HEADERS },
    });
    const connection = new Http2Connection(session, socket, watcher);
    await once(session, 'connect').catch((error: unknown) => {
      throw asNetworkError(error);
    });
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW);
    session.unref(); // like idle connections of HTTP/1.1
    connection.#checkLater(clock, 0, 0);
    return connection;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get isEmpty(): boolean {
    return this.#open === 0;
  }

  /** Whether it accepts another exchange now. */
  get hasRoom(): boolean {
    if (this.#session.closed || this.#session.destroyed) return false;
    const { maxConcurrentStreams = DEFAULT_MAX_STREAMS } = this.#isSettled ? this.#session.remoteSettings : {};
    return this.#open < maxConcurrentStreams;
  }

  /** Whether the connection has failed, not only one exchange. */
  get isBroken(): boolean {
    return this.#session.destroyed;
  }

  /** The request was never sent, or the server reports that it has not processed it. */
  isUnprocessed({ id, rstCode }: ClientHttp2Stream, refused: number): boolean {
    return id === undefined || id > this.#lastProcessed || rstCode === refused;
  }

  start(headers: OutgoingHttpHeaders, options: ClientSessionRequestOptions): ClientHttp2Stream {
    const stream = this.#session.request(headers, options);
    if (++this.#open === 1) this.#session.ref();
    stream.once('close', () => {
      if (--this.#open === 0) this.#session.unref();
      this.#watcher.onStreamClosed(this);
    });
    return stream;
  }

  /** Accepts no more exchanges, and ends with the last one. */
  drain(): void {
    this.#session.close();
  }

  /** Ends at once, with all pending exchanges. */
  end(reason: NetworkError): void {
    this.#session.destroy(reason);
    this.#socket.destroy(); // the session would wait for the server
  }

  /** `silent`: the number of consecutive checks without new data. */
  #checkLater(clock: Clock, read: number, silent: number): void {
    clock.deadline(CHECK_MS).addEventListener('abort', () => {
      const { bytesRead } = this.#socket;
      if (this.#session.destroyed) return;
      if (bytesRead !== read) return this.#checkLater(clock, bytesRead, 0);
      if (silent + 1 >= CLOSE_AFTER_CHECKS)
        return this.end(new NetworkError('ECONNRESET', 'the server does not respond'));
      if (silent + 1 >= PING_AFTER_CHECKS) this.#ping();
      return this.#checkLater(clock, read, silent + 1);
    });
  }

  /** Node.js sends no PING after a GOAWAY; SETTINGS must be acknowledged too. */
  #ping(): void {
    if (this.#session.closed) this.#session.settings({});
    else this.#session.ping(() => {});
  }
}
