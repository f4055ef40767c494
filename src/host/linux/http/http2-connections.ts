import type { SecureContext } from 'node:tls';
import { abortable } from '../../../base/abortable.ts';
import type { Clock } from '../../clock.ts';
import { type HttpRequest, type HttpResponse, NetworkError } from '../../network.ts';
import { StaleConnectionError } from './http-request.ts';
import { Http2Connection } from './http2-connection.ts';
import { dialHttp2, type Http2Peer } from './http2-dial.ts';
import { exchangeOn, UnheardError } from './http2-exchange.ts';

/** As often as Go's client asks anew. */
const MAX_ATTEMPTS = 7;

/** A connection on the way, shared by all who wait for it. */
interface Attempt {
  readonly done: Promise<void>;
  readonly givenUp: AbortController;
  waiting: number;
}

/**
 * The HTTP/2 connections to one server, by one identity. They belong to this object alone, and this object to a pool:
 * 1. An exchange goes on the oldest connection that has room. Where none has, another is opened and not waited: watches
 *    fill a connection (an API server takes 100) and do not end. While one is on its way, or the server has yet to say how many
 *    exchanges it takes, others wait for that instead of opening their own.
 * 2. A connection on its way ends when nobody waits for it any more. Of connections without exchanges one is kept.
 * 3. After a GOAWAY a connection takes nothing new; what the server has heard goes on there to its end. What it has not heard,
 *    by the number in the GOAWAY or by REFUSED_STREAM, is asked anew whatever it is. What it may have heard when a connection
 *    breaks, is asked anew if it is repeatable and the connection had answered before.
 * 4. Nothing read for 30 seconds: the server is asked for a sign of life; 15 seconds later the connection is given up
 *    (`Http2Connection`). So TCP's own patience of a quarter of an hour is nobody's.
 * 5. Who aborts, or leaves an answer, ends an exchange and not the connection. A slow reader holds up its own exchange: of
 *    each a window's worth is kept in memory, and the connection's window is given back at once.
 * 6. A new certificate is another TLS context, thus another object: what goes on here ends in its own time.
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

  /** `undefined` from a server that does not take HTTP/2: nothing is asked then. That costs one handshake, the first time. */
  async request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse | undefined> {
    for (let attempt = 1; ; ) {
      if (this.#closed) throw this.#closed;
      if (this.#hasOtherProtocol) return undefined;
      const connection = [...this.#connections].find(({ hasRoom }) => hasRoom);
      if (connection === undefined) await this.#waitForRoom(request, signal);
      else {
        const answer = await exchangeOn(connection, request, signal).catch(againIfAllowed(request, attempt++));
        if (answer !== 'again') return answer;
      }
    }
  }

  /** Ends all, also what is under way. */
  close(reason: NetworkError): void {
    this.#closed = reason;
    this.#attempt?.givenUp.abort(reason);
    for (const connection of this.#connections) connection.end(reason);
  }

  async #waitForRoom({ connectUntil }: HttpRequest, signal: AbortSignal): Promise<void> {
    const unsettled = [...this.#connections].find(({ isSettled }) => !isSettled);
    if (unsettled) return abortable(unsettled.settled, signal);
    this.#attempt ??= this.#startAttempt();
    const attempt = this.#attempt;
    attempt.waiting++;
    try {
      await unlessLate(abortable(attempt.done, signal), connectUntil);
    } finally {
      if (--attempt.waiting === 0) this.#giveUp(attempt);
    }
  }

  #startAttempt(): Attempt {
    const givenUp = new AbortController();
    const attempt = { done: this.#open(givenUp.signal), givenUp, waiting: 0 };
    attempt.done.catch(() => {}).finally(() => this.#giveUp(attempt)); // told to those who wait
    return attempt;
  }

  #giveUp(attempt: Attempt): void {
    if (this.#attempt === attempt) this.#attempt = undefined;
    attempt.givenUp.abort();
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
      onGone: (gone) => this.#connections.delete(gone),
    });
    if (this.#closed) return connection.end(this.#closed);
    if (!connection.hasRoom) throw new NetworkError('ECONNRESET', 'the connection ended before anything was asked');
    this.#connections.add(connection);
  }

  #keepOneSpare(connection: Http2Connection): void {
    const isSpare = (each: Http2Connection): boolean => each.isEmpty && each.hasRoom;
    if (isSpare(connection) && [...this.#connections].filter(isSpare).length > 1) connection.drain();
  }
}

/** What has to be asked anew resolves as such. Of a server that goes on refusing the caller is told. */
function againIfAllowed({ method, isRepeatable = method === 'GET' }: HttpRequest, attempt: number) {
  return (error: unknown): 'again' => {
    const mayBe = error instanceof UnheardError || (isRepeatable && error instanceof StaleConnectionError);
    if (!mayBe) throw error;
    if (attempt === MAX_ATTEMPTS) throw new NetworkError(error.code, error.message, { cause: error });
    return 'again';
  };
}

async function unlessLate(work: Promise<void>, until: AbortSignal | undefined): Promise<void> {
  if (until === undefined) return work;
  const late = new AbortController();
  const onAbort = (): void => {
    late.abort(new NetworkError('ETIMEDOUT', 'the connection did not stand in time', { cause: until.reason }));
  };
  until.addEventListener('abort', onAbort, { once: true });
  if (until.aborted) onAbort();
  try {
    return await abortable(work, late.signal);
  } finally {
    until.removeEventListener('abort', onAbort);
  }
}
