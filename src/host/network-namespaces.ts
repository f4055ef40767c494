import type { ByteStream } from './network.ts';

/** Operations in another network namespace, which a file pins (namespaces.ts). */
export interface NetworkNamespaces {
  /**
   * The interfaces of each network, loopback included, by file; a file without a namespace is left out. Takes some 30 µs
   * per file.
   */
  interfaces(files: readonly string[]): Promise<ReadonlyMap<string, readonly InterfaceCounters[]>>;

  /**
   * Connects to a loopback port there, by IPv4 or IPv6. Rejects with a `NetworkError`; the signal aborts only the connect. A
   * received chunk is valid until the next one is requested.
   */
  connectLoopback(file: string, port: number, signal: AbortSignal): Promise<ByteStream>;
}

/** The counters of one network interface since it was created. */
export interface InterfaceCounters {
  readonly name: string;
  readonly received: TrafficCounters;
  readonly sent: TrafficCounters;
}

export interface TrafficCounters {
  readonly bytes: bigint;
  readonly packets: bigint;
  readonly errors: bigint;
  readonly dropped: bigint;
}
