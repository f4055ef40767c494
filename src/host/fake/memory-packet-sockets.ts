import { NetworkError } from '../network.ts';
import type { PacketConnection, PacketSockets } from '../packet-sockets.ts';
import { DirectionalQueue } from './directional-queue.ts';

/** In-memory packet sockets; the test is the program that listens. */
export class MemoryPacketSockets implements PacketSockets {
  readonly #listeners = new Map<string, (peer: PacketConnection) => void>();

  /** Accepts connections until it is closed. */
  listen(socketPath: string, accept: (peer: PacketConnection) => void): { close(): void } {
    this.#listeners.set(socketPath, accept);
    return { close: () => void this.#listeners.delete(socketPath) };
  }

  async connect(socketPath: string, signal: AbortSignal): Promise<PacketConnection> {
    signal.throwIfAborted();
    const accept = this.#listeners.get(socketPath);
    if (accept === undefined) throw new NetworkError('ENOENT', `connect ${socketPath}: ENOENT`);
    const [ours, theirs] = packetPair();
    accept(theirs);
    return ours;
  }
}

function packetPair(): readonly [PacketConnection, PacketConnection] {
  const [forth, back] = [new DirectionalQueue('bytes'), new DirectionalQueue('bytes')];
  const close = (): void => {
    forth.close();
    back.close();
  };
  const side = (incoming: DirectionalQueue, outgoing: DirectionalQueue): PacketConnection => ({
    packets: incoming.queue,
    send: (packet) => outgoing.send(packet),
    end: () => outgoing.end(),
    close,
  });
  return [side(back, forth), side(forth, back)];
}
