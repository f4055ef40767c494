import { abortable } from '../../base/abortable.ts';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import { type ByteStream, NetworkError } from '../../host/network.ts';
import { Inbox } from '../inbox.ts';
import { type ControlFrame, encodeControlFrame } from './encode-frame.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { HeaderWriter } from './header-blocks.ts';
import { LiveStream, type StreamTransport } from './live-stream.ts';
import { FrameWriter } from './frame-writer.ts';
import { GO_AWAY_OK, MAX_STREAM_ID, RESET_STATUS, type SpdyFrame, SpdyProtocolError } from './spdy-frames.ts';
import type { SpdyHeaders, SpdySession, SpdyStream } from './spdy-session.ts';
import { UnreadLimit } from './unread-limit.ts';

/** More are refused. Each connection through a port-forward has two. */
const MOST_STREAMS = 2000;

/** A peer that asks for more answers than this, and does not read them, is cut off. */
const MOST_ANSWER_BYTES = 256 * 1024;

/** Makes a session of a connection, and is its only reader and writer from here on. */
export function openSpdySession(transport: ByteStream, role: 'client' | 'server'): SpdySession {
  const session = new LiveSession(transport, role);
  void session.receive();
  return session;
}

/** What Kubernetes says of a stream. Nothing else is kept, as it would be for as long as the stream lives. */
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
  /** Streams of ours that the peer has not answered. */
  readonly #asked = new Map<number, PromiseWithResolvers<void>>();
  readonly #unread = new UnreadLimit();
  readonly #closed = Promise.withResolvers<void>();
  readonly #link: StreamTransport;
  #nextId: number;
  #lastPeerId = 0;
  #isOver = false;

  constructor(transport: ByteStream, role: 'client' | 'server') {
    this.#transport = transport;
    this.#nextId = role === 'client' ? 1 : 2;
    this.#outbox = new FrameWriter(transport, () => this.#cutOff());
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
    if (this.#isOver) throw new NetworkError('EPIPE', 'the SPDY session has ended');
    if (this.#nextId > MAX_STREAM_ID) throw new NetworkError('EAGAIN', 'the SPDY session has no more streams');
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#add(id, headers);
    const answered = Promise.withResolvers<void>();
    this.#asked.set(id, answered);
    try {
      this.#send({ kind: 'synStream', streamId: id, headers, fin: false, unidirectional: false });
      await abortable(answered.promise, signal);
      return stream;
    } catch (error) {
      await stream.reset();
      throw error;
    } finally {
      this.#asked.delete(id);
    }
  }

  async close(): Promise<void> {
    if (!this.#isOver) {
      this.#send({ kind: 'goAway', lastStreamId: this.#lastPeerId, status: GO_AWAY_OK });
      this.#endStreams();
    }
    await this.#outbox.drained();
    // Not more than that: a socket that is closed while there is something unread takes back what it has sent.
    this.#transport.end();
    this.#closed.resolve();
  }

  /** Reads until the peer ends, also after `close`. Nothing that a peer sends makes it reject. */
  async receive(): Promise<void> {
    try {
      await this.#receiveFrames();
    } catch (error) {
      this.#outbox.fail(new NetworkError('EPROTO', `the SPDY session has failed: ${errorText(error)}`, { cause: error }));
    } finally {
      this.#cutOff();
    }
  }

  async #receiveFrames(): Promise<void> {
    const decoder = new FrameDecoder();
    for await (const chunk of this.#transport.chunks) {
      if (this.#isOver) continue;
      for (const frame of decoder.frames(chunk)) {
        if (frame.kind === 'goAway') return;
        this.#obey(frame);
      }
      if (this.#outbox.controlBytes > MOST_ANSWER_BYTES) throw new SpdyProtocolError('answers are not read');
      await this.#unread.untilBelowLimit();
    }
  }

  #obey(frame: Exclude<SpdyFrame, { readonly kind: 'goAway' }>): void {
    switch (frame.kind) {
      case 'synStream':
        return this.#accept(frame);
      case 'synReply':
        this.#asked.get(frame.streamId)?.resolve();
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
        this.#asked.get(frame.streamId)?.reject(new NetworkError('ECONNREFUSED', 'the peer refuses the SPDY stream'));
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
    if (!this.incoming.isOpen || this.#streams.size + this.incoming.size >= MOST_STREAMS) {
      this.#send({ kind: 'rstStream', streamId, status: RESET_STATUS.refusedStream });
      return;
    }
    const stream = this.#add(streamId, usedHeaders(headers), unidirectional);
    if (!unidirectional) this.#send({ kind: 'synReply', streamId, headers: {}, fin: false });
    if (fin) stream.peerEnded();
    this.incoming.put(stream);
  }

  /** Clients have the odd numbers. */
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

  /** What was received is still read, what was written still goes out; nothing is added to either. */
  #endStreams(): void {
    this.#isOver = true;
    this.incoming.end();
    for (const stream of this.#streams.values()) stream.sessionEnded();
    for (const asked of this.#asked.values())
      asked.reject(new NetworkError('ECONNRESET', 'the SPDY session has ended'));
    this.#unread.lift();
  }

  #cutOff(): void {
    this.#endStreams();
    this.#outbox.fail(new NetworkError('EPIPE', 'the SPDY session has ended'));
    this.#transport.close();
    this.#closed.resolve();
  }
}
