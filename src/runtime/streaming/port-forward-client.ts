/** A port-forward client, independent of its transport. */
export interface PortForwardClient {
  /** Connections that the client opens; ends when the client is gone. */
  readonly connections: AsyncIterable<ForwardedConnection>;
  /** Resolves when the client is gone, even if unread data is left. */
  readonly gone: Promise<void>;
  close(): void;
}

/** One connection to one port of the pod. */
export interface ForwardedConnection {
  readonly port: number;
  /** Read once; ends when the client half-closes the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
  write(data: Uint8Array): Promise<void>;
  /** Half-closes the connection: the pod sends no more data, the client still may. */
  end(): Promise<void>;
  /** Sends the error on the error stream, and closes both sides. */
  fail(message: string): Promise<void>;
  /** Closes both sides without an error. */
  close(): Promise<void>;
  /** Resolves when both sides are closed or the client has reset the connection, even if unread data is left. */
  readonly closed: Promise<void>;
}
