/** Unix sockets that preserve message boundaries (`SOCK_SEQPACKET`), such as conmon's attach socket. */
export interface PacketSockets {
  /** Resolves when connected; rejects with a `NetworkError`. The path may have any length. The signal aborts only the connect. */
  connect(socketPath: string, signal: AbortSignal): Promise<PacketConnection>;
}

export interface PacketConnection {
  /** In order, one per packet sent, read once; ends when either side has closed. A slow reader slows the sender down. */
  readonly packets: AsyncIterable<Uint8Array>;
  /**
   * Resolves when the kernel has the packet; rejects with a `NetworkError` when the peer has closed. An empty packet is not
   * sent: the receiver could not distinguish it from the end.
   */
  send(packet: Uint8Array): Promise<void>;
  /** Ends sending after the pending packets; receiving continues. */
  end(): void;
  close(): void;
}
