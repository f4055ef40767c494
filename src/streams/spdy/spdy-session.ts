/**
 * A connection that carries many streams, by SPDY/3.1 as Kubernetes speaks it: what kubectl, crictl and kubelet fall back to
 * where there are no WebSockets. Nobody there keeps to SPDY's windows: a reader who is slow slows the whole connection.
 *
 * 1. Of each stream the chunks come in the order in which they were sent; streams come in the order of their ids.
 * 2. A stream that nobody reads holds back at most `unread` bytes (of all streams together) before the connection waits: 1 MiB.
 *    Then nothing is read of any stream, no end, no reset and no goodbye either; that the peer has gone shows when reading goes
 *    on or a write fails. Who does not want what comes resets the stream, or leaves the iteration: from then on it is dropped.
 * 3. A peer that breaks the protocol ends the session, never the process; memory does not grow with what it says.
 * 4. What goes out never waits for what comes in, nor one stream for the end of another.
 * 5. The peer's GOAWAY and the end of its bytes end the session: its streams end after what was received of them.
 */
export interface SpdySession {
  /** Streams that the peer opens, each answered with SYN_REPLY before it is given out; read once; ends with the session. */
  readonly incoming: AsyncIterable<SpdyStream>;
  /** Resolves when the peer has answered. Rejects with a `NetworkError` when it refuses, or when the session has ended. */
  open(headers: SpdyHeaders, signal: AbortSignal): Promise<SpdyStream>;
  /** Resolves when the session has ended, from either side or by a failure. */
  readonly closed: Promise<void>;
  /**
   * Says GOAWAY and ends it; what was written before still goes out. Safe to repeat. Resolves when the transport has taken all of
   * that, and has been ended; it is closed when the peer ends its side too, or by who owns it.
   */
  close(): Promise<void>;
}

/** Names in lower case. A name with several values has them in one list. */
export type SpdyHeaders = Readonly<Record<string, readonly string[]>>;

/** Bytes both ways, each of which ends by itself. */
export interface SpdyStream {
  readonly id: number;
  /** Of a stream that the peer opened: only `streamtype`, `port` and `requestid`. */
  readonly headers: SpdyHeaders;
  /** Read once; ends when the peer has ended its side, has reset the stream, or when the session has ended. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Resolves when all of it is handed to the transport; rejects with a `NetworkError` when nobody can take it any more. */
  write(data: Uint8Array): Promise<void>;
  /** Our side has nothing more to say; theirs may go on. Safe to repeat, and when the session is over. */
  end(): Promise<void>;
  /** Both sides at once, and what is unread is forgotten. */
  reset(): Promise<void>;
  /** Resolves when both sides have ended, the stream was reset, or the session has ended. */
  readonly closed: Promise<void>;
}
