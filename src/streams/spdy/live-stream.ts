import { NetworkError } from '../../host/network.ts';
import { Inbox } from '../inbox.ts';
import type { SpdyHeaders, SpdyStream } from './spdy-session.ts';
import type { UnreadLimit } from './unread-limit.ts';

/** Smaller payloads are copied, so that they do not retain the whole chunk. */
const SMALL_BYTES = 4096;

/** The part of a session that a stream uses. */
export interface StreamTransport {
  send(streamId: number, data: Uint8Array, fin: boolean): Promise<void>;
  sendReset(streamId: number): void;
  /** Drops unsent data; pending writes reject with `reason`. */
  cancelWrites(streamId: number, reason: NetworkError): void;
  /** Called when both sides have ended. */
  closed(streamId: number): void;
}

export interface LiveStreamOptions {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly link: StreamTransport;
  readonly unread: UnreadLimit;
  /** The peer opened a unidirectional stream. */
  readonly isReadOnly?: boolean;
}

type Side = 'ours' | 'theirs';

/** A stream of a session. Each side ends once; the stream is closed when both have ended. */
export class LiveStream implements SpdyStream {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly #link: StreamTransport;
  readonly #inbox: Inbox<Uint8Array>;
  readonly #closed = Promise.withResolvers<void>();
  readonly #ended: Set<Side>;

  constructor({ id, headers, link, unread, isReadOnly = false }: LiveStreamOptions) {
    this.id = id;
    this.headers = headers;
    this.#link = link;
    this.#inbox = new Inbox({ observer: unread });
    this.#ended = new Set(isReadOnly ? ['ours'] : []);
  }

  get chunks(): AsyncIterable<Uint8Array> {
    return this.#inbox;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get #isClosed(): boolean {
    return this.#ended.size === 2;
  }

  async write(data: Uint8Array): Promise<void> {
    if (this.#ended.has('ours')) throw new NetworkError('EPIPE', `SPDY stream ${this.id} is closed for writing`);
    if (data.length > 0) await this.#link.send(this.id, data, false);
  }

  async end(): Promise<void> {
    if (this.#ended.has('ours')) return;
    const sent = this.#link.send(this.id, new Uint8Array(), true);
    this.#end('ours');
    await sent.catch(() => {}); // the peer has disconnected, which ends the stream too
  }

  async reset(): Promise<void> {
    this.#inbox.discard();
    if (this.#isClosed) return;
    this.#link.cancelWrites(this.id, new NetworkError('ECANCELED', `SPDY stream ${this.id} was reset`));
    this.#link.sendReset(this.id);
    this.#end('ours', 'theirs');
  }

  receive(payload: Uint8Array): void {
    if (payload.length === 0) return;
    this.#inbox.put(payload.length < SMALL_BYTES ? new Uint8Array(payload) : payload);
  }

  peerEnded(): void {
    this.#end('theirs');
  }

  peerReset(): void {
    this.#link.cancelWrites(this.id, new NetworkError('ECONNRESET', `SPDY stream ${this.id} was reset by the peer`));
    this.#end('ours', 'theirs');
  }

  /** The session handles unsent data. */
  sessionEnded(): void {
    this.#end('ours', 'theirs');
  }

  #end(...sides: readonly Side[]): void {
    if (this.#isClosed) return;
    for (const side of sides) this.#ended.add(side);
    if (this.#ended.has('theirs')) this.#inbox.end();
    if (!this.#isClosed) return;
    this.#link.closed(this.id);
    this.#closed.resolve();
  }
}
