/**
 * Many streams over one connection, by SPDY/3.1 as Kubernetes uses it: kubectl, crictl and kubelet fall back to it where
 * WebSockets are not supported. These peers ignore SPDY's windows, so a slow reader slows the whole connection.
 *
 * 1. The chunks of a stream arrive in the order of sending; streams arrive in the order of their ids.
 * 2. With more than 1 MiB unread, of all streams together, nothing more is read from the connection: no data, end, reset or
 *    GOAWAY of any stream. A disconnect is then noticed only when reading continues or a write fails. A consumer that does
 *    not need a stream's data resets the stream or leaves the iteration: later data is dropped.
 * 3. A protocol error ends the session, never the process; memory does not grow with what the peer sends.
 * 4. Sending never waits for receiving, and no stream waits for another to end.
 * 5. The peer's GOAWAY and the end of its bytes end the session: its streams end after the received data.
 */
export interface SpdySession {
  /** Streams that the peer opens, each after its SYN_REPLY is queued; read once; ends with the session. */
  readonly incoming: AsyncIterable<SpdyStream>;
  /** Resolves on the peer's SYN_REPLY. Rejects with a `NetworkError` when the peer rejects it, or the session has ended. */
  open(headers: SpdyHeaders, signal: AbortSignal): Promise<SpdyStream>;
  /** Resolves when the session has ended, from either side or by an error. */
  readonly closed: Promise<void>;
  /**
   * Sends GOAWAY and ends the session; earlier writes are still sent. Idempotent. Resolves when the transport has taken all of
   * that and has been ended; the transport is closed when the peer ends its side too, or by its owner.
   */
  close(): Promise<void>;
}

/** Names in lower case. A name with several values has them in one list. */
export type SpdyHeaders = Readonly<Record<string, readonly string[]>>;

/** A bidirectional byte stream; each direction ends separately. */
export interface SpdyStream {
  readonly id: number;
  /** A stream that the peer opened has only `streamtype`, `port` and `requestid`. */
  readonly headers: SpdyHeaders;
  /** Read once; ends when the peer has ended its side, has reset the stream, or when the session has ended. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Resolves when the transport has all of it; rejects with a `NetworkError` when the stream or session has ended. */
  write(data: Uint8Array): Promise<void>;
  /** Ends our direction; the peer's may continue. Idempotent, also after the end of the session. */
  end(): Promise<void>;
  /** Ends both directions and drops unread data. */
  reset(): Promise<void>;
  /** Resolves when both sides have ended, the stream was reset, or the session has ended. */
  readonly closed: Promise<void>;
}
