/** A client of port-forward, whatever carries it. */
export interface PortForwardClient {
  /** Connections that the client wants, as they come; ends when the client is gone. */
  readonly connections: AsyncIterable<ForwardedConnection>;
  /** Resolves when the client is gone, also while there is more to read. */
  readonly gone: Promise<void>;
  close(): void;
}

/** One connection to one port of the pod. */
export interface ForwardedConnection {
  readonly port: number;
  /** Read once; ends when the client has ended its side, which leaves ours open. */
  readonly chunks: AsyncIterable<Uint8Array>;
  write(data: Uint8Array): Promise<void>;
  /** Nothing more comes from the pod; the client may go on. */
  end(): Promise<void>;
  /** Tells why it failed, where the client listens for that, and ends both sides. */
  fail(message: string): Promise<void>;
  /** Ends both sides; all is well. */
  close(): Promise<void>;
  /** Resolves when both sides have ended, or the client has given it up, also while there is more to read. */
  readonly closed: Promise<void>;
}
