import type { SecureContext } from 'node:tls';
import { abortable } from '../../../base/abortable.ts';
import type { Clock } from '../../clock.ts';
import { type HttpRequest, type HttpResponse, NetworkError } from '../../network.ts';
import { StaleConnectionError } from './http-request.ts';
import { Http2Connection } from './http2-connection.ts';
import { dialHttp2, type Http2Peer } from './http2-dial.ts';
import { exchangeOn, UnprocessedRequestError } from './http2-exchange.ts';

/** As in Go's client. */
const MAX_ATTEMPTS = 7;

/** A connection that is being opened, shared by all requests that wait for it. */
interface Attempt {
  readonly done: Promise<void>;
  readonly cancelled: AbortController;
  waiting: number;
}

/**
 * The HTTP/2 connections to one server with one TLS context. Owned by a pool:
 * 1. An exchange uses the oldest connection with room. If none has room, another is opened: watches fill a connection (an
 *    API server accepts 100 streams) and do not end. While a connection is being opened, or the server's SETTINGS have not
 *    arrived, other requests wait for that instead of opening their own.
 * 2. Opening is cancelled when no request waits for it any more. One idle connection is kept.
 * 3. After a GOAWAY a connection accepts nothing new; processed requests continue on it. Requests that the server has not
 *    processed, by the id in the GOAWAY or by REFUSED_STREAM, are always retried. Requests that it may have processed when a
 *    connection breaks are retried if they are repeatable and the server has responded on the connection before.
 * 4. After 30 seconds without data the server gets a PING; 15 seconds later the connection is closed (`Http2Connection`). So
 *    TCP's own timeout of a quarter of an hour does not apply.
 * 5. Aborting a request, or leaving a response, ends the exchange and not the connection. A slow reader delays only its own
 *    exchange: up to one window per exchange is buffered, and the connection's window is updated at once.
 * 6. A new certificate is a new TLS context, thus another object: exchanges of the old one continue to their end.
 */
export class Http2Connections {
  readonly #peer: Http2Peer;
  readonly #context: SecureContext | undefined;
  readonly #clock: Clock;
  readonly #connections = new Set<Http2Connection>();
  #attempt: Attempt | undefined;
  #closed: NetworkError | undefined;
  #hasOtherProtocol = false;

  constructor(peer: Http2Peer, context: SecureContext | undefined, clock: Clock) {
    this.#peer = peer;
    this.#context = context;
    this.#clock = clock;
  }

  /** `undefined` if the server does not support HTTP/2: nothing is sent then. That costs one handshake, the first time. */
  async request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse | undefined> {
    for (let attempt = 1; ; ) {
      if (this.#closed) throw this.#closed;
      if (this.#hasOtherProtocol) return undefined;
      const connection = [...this.#connections].find(({ hasRoom }) => hasRoom);
      if (connection === undefined) await this.#waitForRoom(request, signal);
      else {
        const response = await exchangeOn(connection, request, signal).catch(retryIfAllowed(request, attempt++));
        if (response !== 'retry') return response;
      }
    }
  }

  /** Ends all connections with their pending exchanges. */
  close(reason: NetworkError): void {
    this.#closed = reason;
    this.#attempt?.cancelled.abort(reason);
    for (const connection of this.#connections) connection.end(reason);
  }

  async #waitForRoom({ connectUntil }: HttpRequest, signal: AbortSignal): Promise<void> {
    const unsettled = [...this.#connections].find(({ isSettled }) => !isSettled);
    if (unsettled) return abortable(unsettled.settled, signal);
    this.#attempt ??= this.#startAttempt();
    const attempt = this.#attempt;
    attempt.waiting++;
    try {
      await withConnectDeadline(abortable(attempt.done, signal), connectUntil);
    } finally {
      if (--attempt.waiting === 0) this.#cancel(attempt);
    }
  }

  #startAttempt(): Attempt {
    const cancelled = new AbortController();
    const attempt = { done: this.#open(cancelled.signal), cancelled, waiting: 0 };
    attempt.done.catch(() => {}).finally(() => this.#cancel(attempt)); // the waiting requests get the error
    return attempt;
  }

  #cancel(attempt: Attempt): void {
    if (this.#attempt === attempt) this.#attempt = undefined;
    attempt.cancelled.abort();
  }

  async #open(signal: AbortSignal): Promise<void> {
    const socket = await dialHttp2(this.#peer, this.#context, signal);
    if (socket.alpnProtocol !== 'h2') {
      this.#hasOtherProtocol = true;
      socket.destroy();
      return;
    }
    const connection = await Http2Connection.over(socket, this.#clock, {
      onStreamClosed: (on) => this.#keepOneSpare(on),
      onClosed: (closed) => this.#connections.delete(closed),
    });
    if (this.#closed) return connection.end(this.#closed);
    if (!connection.hasRoom) throw new NetworkError('ECONNRESET', 'the connection ended before the first request');
    this.#connections.add(connection);
  }

  #keepOneSpare(connection: Http2Connection): void {
    const isSpare = (each: Http2Connection): boolean => each.isEmpty && each.hasRoom;
    if (isSpare(connection) && [...this.#connections].filter(isSpare).length > 1) connection.drain();
  }
}

/** Resolves with `retry` for an error after which the request may be sent again; throws it after the last attempt. */
function retryIfAllowed({ method, isRepeatable = method === 'GET' }: HttpRequest, attempt: number) {
  return (error: unknown): 'retry' => {
    const mayRetry =
      error instanceof UnprocessedRequestError || (isRepeatable && error instanceof StaleConnectionError);
    if (!mayRetry) throw error;
    if (attempt === MAX_ATTEMPTS) throw new NetworkError(error.code, error.message, { cause: error });
    return 'retry';
  };
}

async function withConnectDeadline(work: Promise<void>, until: AbortSignal | undefined): Promise<void> {
  if (until === undefined) return work;
  const late = new AbortController();
  const onAbort = (): void => {
    late.abort(new NetworkError('ETIMEDOUT', 'the connection was not established in time', { cause: until.reason }));
  };
  until.addEventListener('abort', onAbort, { once: true });
  if (until.aborted) onAbort();
  try {
    return await abortable(work, late.signal);
  } finally {
    until.removeEventListener('abort', onAbort);
  }
}
