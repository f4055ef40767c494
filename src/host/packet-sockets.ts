/** Sockets of this machine that keep the bounds of what is sent (`SOCK_SEQPACKET`): conmon's door for whoever attaches. */
export interface PacketSockets {
  /** Resolves when the connection stands; rejects with a `NetworkError`. A path of any length. The signal ends only the connecting. */
  connect(socketPath: string, signal: AbortSignal): Promise<PacketConnection>;
}

export interface PacketConnection {
  /** In order, one for each that was sent, read once; ends when either side has closed. A slow reader slows the sender down. */
  readonly packets: AsyncIterable<Uint8Array>;
  /**
   * Resolves when the kernel has it; rejects with a `NetworkError` when nobody is there any more. Of an empty packet nothing
   * is sent: nobody could tell it from the end.
   */
  send(packet: Uint8Array): Promise<void>;
  /** Nothing more is sent after what is under way; what comes is still read. */
  end(): void;
  close(): void;
}
