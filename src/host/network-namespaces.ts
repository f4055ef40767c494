import type { ByteStream } from './network.ts';

/** What can be done in the network of another namespace, which a file holds (namespaces.ts). */
export interface NetworkNamespaces {
  /**
   * The interfaces of each network, loopback included, by the file that holds it; a file that holds none is left out. For
   * many at once: it costs some 30 µs for each.
   */
  interfaces(files: readonly string[]): Promise<ReadonlyMap<string, readonly InterfaceCounters[]>>;

  /**
   * Connects to who listens on the loopback there, by IPv4 or IPv6. Rejects with a `NetworkError`; the signal ends only the
   * connecting. A chunk that is received is good until the next one is asked for.
   */
  connectLoopback(file: string, port: number, signal: AbortSignal): Promise<ByteStream>;
}

/** Of one network interface, since it was made. */
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
