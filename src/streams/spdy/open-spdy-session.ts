import { abortable } from '../../base/abortable.ts';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import { type ByteStream, NetworkError } from '../../host/network.ts';
import { Inbox } from '../inbox.ts';
import { type ControlFrame, encodeControlFrame } from './encode-frame.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { FrameWriter } from './frame-writer.ts';
import { HeaderWriter } from './header-blocks.ts';
import { LiveStream, type StreamTransport } from './live-stream.ts';
import { GO_AWAY_OK, MAX_STREAM_ID, RESET_STATUS, type SpdyFrame, SpdyProtocolError } from './spdy-frames.ts';
import type { SpdyHeaders, SpdySession, SpdyStream } from './spdy-session.ts';
import { UnreadLimit } from './unread-limit.ts';

/** More are reset. Each connection of a port-forward has two. */
const MAX_STREAMS = 2000;

/** A peer that does not read this much of control frames is disconnected. */
const MAX_CONTROL_BYTES = 256 * 1024;

/** Starts a session on a connection, and becomes its only reader and writer. */
export function openSpdySession(transport: ByteStream, role: 'client' | 'server'): SpdySession {
  const session = new LiveSession(transport, role);
  void session.receive();
  return session;
}

/** The headers that Kubernetes uses. Others are dropped, since headers are kept as long as the stream. */
const USED_HEADERS: ReadonlySet<string> = new Set(['streamtype', 'port', 'requestid']);

function usedHeaders(headers: SpdyHeaders): SpdyHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => USED_HEADERS.has(name)));
}

class LiveSession implements SpdySession {
  readonly incoming = new Inbox<SpdyStream>();
  readonly #transport: ByteStream;
  readonly #headers = new HeaderWriter();
  readonly #outbox: FrameWriter;
  readonly #streams = new Map<number, LiveStream>();
  /** Our streams that wait for the peer's SYN_REPLY. */
  readonly #opening = new Map<number, PromiseWithResolvers<void>>();
  readonly #unread = new UnreadLimit();
  readonly #closed = Promise.withResolvers<void>();
  readonly #link: StreamTransport;
  #nextId: number;
  #lastPeerId = 0;
  #hasEnded = false;

  constructor(transport: ByteStream, role: 'client' | 'server') {
    this.#transport = transport;
    this.#nextId = role === 'client' ? 1 : 2;
    this.#outbox = new FrameWriter(transport, () => this.#disconnect());
    this.#link = {
      send: (streamId, data, fin) => this.#outbox.data(streamId, data, fin),
      sendReset: (streamId) => this.#send({ kind: 'rstStream', streamId, status: RESET_STATUS.cancel }),
      cancelWrites: (streamId, reason) => this.#outbox.withdraw(streamId, reason),
      closed: (streamId) => this.#streams.delete(streamId),
    };
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  async open(headers: SpdyHeaders, signal: AbortSignal): Promise<SpdyStream> {
    signal.throwIfAborted();
    if (this.#hasEnded) throw new NetworkError('EPIPE', 'the SPDY session has ended');
    if (this.#nextId > MAX_STREAM_ID) throw new NetworkError('EAGAIN', 'the SPDY session has no more streams');
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#add(id, headers);
    const replied = Promise.withResolvers<void>();
    this.#opening.set(id, replied);
    try {
      this.#send({ kind: 'synStream', streamId: id, headers, fin: false, unidirectional: false });
      await abortable(replied.promise, signal);
      return stream;
    } catch (error) {
      await stream.reset();
      throw error;
    } finally {
      this.#opening.delete(id);
    }
  }

  async close(): Promise<void> {
    if (!this.#hasEnded) {
      this.#send({ kind: 'goAway', lastStreamId: this.#lastPeerId, status: GO_AWAY_OK });
      this.#endStreams();
    }
    await this.#outbox.drained();
    // Not closed: closing a socket with unread data resets it and discards what was sent.
    this.#transport.end();
    this.#closed.resolve();
  }

  /** Reads until the peer ends, also after `close`. Never rejects. */
  async receive(): Promise<void> {
    try {
      await this.#receiveFrames();
    } catch (error) {
      this.#outbox.fail(
        new NetworkError('EPROTO', `the SPDY session has failed: ${errorText(error)}`, { cause: error }),
      );
    } finally {
      this.#disconnect();
    }
  }

  async #receiveFrames(): Promise<void> {
    const decoder = new FrameDecoder();
    for await (const chunk of this.#transport.chunks) {
      if (this.#hasEnded) continue;
      for (const frame of decoder.frames(chunk)) {
        if (frame.kind === 'goAway') return;
        this.#handle(frame);
      }
      if (this.#outbox.controlBytes > MAX_CONTROL_BYTES)
        throw new SpdyProtocolError('the peer does not read control frames');
      await this.#unread.untilBelowLimit();
    }
  }

  #handle(frame: Exclude<SpdyFrame, { readonly kind: 'goAway' }>): void {
    switch (frame.kind) {
      case 'synStream':
        return this.#accept(frame);
      case 'synReply':
        this.#opening.get(frame.streamId)?.resolve();
        if (frame.fin) this.#streams.get(frame.streamId)?.peerEnded();
        return;
      case 'headers':
        if (frame.fin) this.#streams.get(frame.streamId)?.peerEnded();
        return;
      case 'data': {
        const stream = this.#streams.get(frame.streamId);
        stream?.receive(frame.payload);
        if (frame.fin) stream?.peerEnded();
        return;
      }
      case 'rstStream':
        this.#opening
          .get(frame.streamId)
          ?.reject(new NetworkError('ECONNREFUSED', 'the peer rejected the SPDY stream'));
        return this.#streams.get(frame.streamId)?.peerReset();
      case 'ping':
        return this.#isOfPeer(frame.id) ? this.#send(frame) : undefined;
      case 'settings':
      case 'windowUpdate':
        return;
      default:
        return assertNever(frame);
    }
  }

  #accept({ streamId, headers, fin, unidirectional }: Extract<SpdyFrame, { readonly kind: 'synStream' }>): void {
    if (!this.#isOfPeer(streamId) || streamId <= this.#lastPeerId) {
      throw new SpdyProtocolError(`the peer may not open stream ${streamId}`);
    }
    this.#lastPeerId = streamId;
    if (!this.incoming.isOpen || this.#streams.size + this.incoming.size >= MAX_STREAMS) {
      this.#send({ kind: 'rstStream', streamId, status: RESET_STATUS.refusedStream });
      return;
    }
    const stream = this.#add(streamId, usedHeaders(headers), unidirectional);
    if (!unidirectional) this.#send({ kind: 'synReply', streamId, headers: {}, fin: false });
    if (fin) stream.peerEnded();
    this.incoming.put(stream);
  }

  /** Clients have odd ids. */
  #isOfPeer(id: number): boolean {
    return id % 2 !== this.#nextId % 2;
  }

  #add(id: number, headers: SpdyHeaders, isReadOnly = false): LiveStream {
    const stream = new LiveStream({ id, headers, link: this.#link, unread: this.#unread, isReadOnly });
    this.#streams.set(id, stream);
    return stream;
  }

  #send(frame: ControlFrame): void {
    this.#outbox.control(encodeControlFrame(frame, this.#headers));
  }

  /** Received data can still be read, and written data is still sent; nothing new is accepted. */
  #endStreams(): void {
    this.#hasEnded = true;
    this.incoming.end();
    for (const stream of this.#streams.values()) stream.sessionEnded();
    for (const opening of this.#opening.values())
      opening.reject(new NetworkError('ECONNRESET', 'the SPDY session has ended'));
    this.#unread.lift();
  }

  #disconnect(): void {
    this.#endStreams();
    this.#outbox.fail(new NetworkError('EPIPE', 'the SPDY session has ended'));
    this.#transport.close();
    this.#closed.resolve();
  }
}
