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

/** Before the server has said how many it takes, as Go's client assumes. */
const STREAMS_UNTIL_TOLD = 100;
/** How much a server may send ahead of one reader, and of all: at 50 ms to the server, 20 MB a second for one. */
const STREAM_WINDOW = 1024 * 1024;
const CONNECTION_WINDOW = 4 * STREAM_WINDOW;
/** What Node.js lets pass in HTTP/1.1. */
const MAX_HEADERS = 16 * 1024;
const CHECK_MS = 15_000;
/** As client-go: a server that is silent for 30 seconds is asked for a sign of life, and given 15 seconds for it. */
const ASK_AFTER_CHECKS = 2;
const GONE_AFTER_CHECKS = 3;

export interface ConnectionWatcher {
  /** One exchange is over. */
  onStreamClosed(on: Http2Connection): void;
  /** It will not answer any more. */
  onGone(gone: Http2Connection): void;
}

/** One HTTP/2 connection that stands. */
export class Http2Connection {
  /** Resolves when it is known how many exchanges the server takes at once, or that it takes none. */
  readonly settled: Promise<void>;
  /** Whether anything was answered on it: where it breaks then, that is not the fault of what is asked. */
  hasAnswered = false;
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #watcher: ConnectionWatcher;
  #open = 0;
  #isSettled = false;
  #lastHeard = Number.POSITIVE_INFINITY;

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
    session.on('error', () => {}); // each exchange is told for itself
    session.on('goaway', (_, lastStreamId) => {
      this.#lastHeard = lastStreamId;
    });
    session.once('close', () => {
      onSettled();
      watcher.onGone(this);
    });
  }

  /** On a socket of its own, by which the server has taken HTTP/2. */
  static async over(socket: TLSSocket, clock: Clock, watcher: ConnectionWatcher): Promise<Http2Connection> {
    const session = connect('https://server', {
      createConnection: () => socket,
      peerMaxConcurrentStreams: STREAMS_UNTIL_TOLD,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: MAX_HEADERS },
    });
    const connection = new Http2Connection(session, socket, watcher);
    await once(session, 'connect').catch((error: unknown) => {
      throw asNetworkError(error);
    });
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW);
    session.unref(); // as a kept connection of HTTP/1.1
    connection.#checkLater(clock, 0, 0);
    return connection;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get isEmpty(): boolean {
    return this.#open === 0;
  }

  /** Whether it takes one more exchange now. */
  get hasRoom(): boolean {
    if (this.#session.closed || this.#session.destroyed) return false;
    const { maxConcurrentStreams = STREAMS_UNTIL_TOLD } = this.#isSettled ? this.#session.remoteSettings : {};
    return this.#open < maxConcurrentStreams;
  }

  /** Whether it broke, and did not only refuse one exchange. */
  get isBroken(): boolean {
    return this.#session.destroyed;
  }

  /** The server has said of it that it was not and will not be heard, or it was never sent. */
  isUnheard({ id, rstCode }: ClientHttp2Stream, refused: number): boolean {
    return id === undefined || id > this.#lastHeard || rstCode === refused;
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

  /** Takes nothing more, and ends when the last exchange does. */
  drain(): void {
    this.#session.close();
  }

  /** Ends at once, with whatever is under way. */
  end(reason: NetworkError): void {
    this.#session.destroy(reason);
    this.#socket.destroy(); // the session would wait for the other side
  }

  /** `silent` checks in a row have found nothing new to read. */
  #checkLater(clock: Clock, read: number, silent: number): void {
    clock.deadline(CHECK_MS).addEventListener('abort', () => {
      const { bytesRead } = this.#socket;
      if (this.#session.destroyed) return;
      if (bytesRead !== read) return this.#checkLater(clock, bytesRead, 0);
      if (silent + 1 >= GONE_AFTER_CHECKS) return this.end(new NetworkError('ECONNRESET', 'the server is silent'));
      if (silent + 1 >= ASK_AFTER_CHECKS) this.#askForSign();
      return this.#checkLater(clock, read, silent + 1);
    });
  }

  /** Node.js sends no PING once the server has said GOAWAY; SETTINGS have to be acknowledged as well. */
  #askForSign(): void {
    if (this.#session.closed) this.#session.settings({});
    else this.#session.ping(() => {});
  }
}
