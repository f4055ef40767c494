import { type ByteStream, NetworkError } from '../network.ts';
import type { InterfaceCounters, NetworkNamespaces } from '../network-namespaces.ts';
import { byteStreamPair } from './memory-byte-stream.ts';

interface MemoryNetworkNamespace {
  interfaces: readonly InterfaceCounters[];
  readonly listeners: Map<number, (stream: ByteStream) => void>;
}

const NO_TRAFFIC = { bytes: 0n, packets: 0n, errors: 0n, dropped: 0n };
const LOOPBACK: InterfaceCounters = { name: 'lo', received: NO_TRAFFIC, sent: NO_TRAFFIC };

/** Network namespaces by file, as tests define them. */
export class MemoryNetworkNamespaces implements NetworkNamespaces {
  readonly #networks = new Map<string, MemoryNetworkNamespace>();

  /** Sets the interfaces of a network beside its loopback, and creates the network. */
  set(file: string, interfaces: readonly InterfaceCounters[]): void {
    const listeners = this.#networks.get(file)?.listeners ?? new Map();
    this.#networks.set(file, { interfaces: [LOOPBACK, ...interfaces], listeners });
  }

  /** Listens on the loopback of the network. */
  listen(file: string, port: number, accept: (stream: ByteStream) => void): void {
    this.#networks.get(file)?.listeners.set(port, accept);
  }

  async interfaces(files: readonly string[]): Promise<ReadonlyMap<string, readonly InterfaceCounters[]>> {
    return new Map(
      files.flatMap((file) => {
        const network = this.#networks.get(file);
        return network ? [[file, network.interfaces] as const] : [];
      }),
    );
  }

  async connectLoopback(file: string, port: number, signal: AbortSignal): Promise<ByteStream> {
    signal.throwIfAborted();
    const network = this.#networks.get(file);
    if (!network) throw new NetworkError('ENOENT', `ENOENT: no such file or directory, open '${file}'`);
    const accept = network.listeners.get(port);
    if (!accept) throw new NetworkError('ECONNREFUSED', `connect ECONNREFUSED 127.0.0.1:${port}`);
    const [client, server] = byteStreamPair();
    accept(server);
    return client;
  }
}
