import { Socket, type SocketConstructorOpts } from 'node:net';
import { type ByteStream, NetworkError } from '../../network.ts';
import type { InterfaceCounters, NetworkNamespaces } from '../../network-namespaces.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { untilConnected } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { parseNetDev } from '../proc/net-dev.ts';
import { LentChunks } from '../process/lent-chunks.ts';
import { createNamespaceOrders, type NamespaceOrders } from './namespace-orders.ts';

/** After so many other orders get their turn: a millisecond. */
const NETWORKS_PER_ORDER = 32;
const LOOPBACKS = [
  { family: 'IPv4', host: '127.0.0.1' },
  { family: 'IPv6', host: '::1' },
] as const;

/**
 * Other networks, by the thread that makes namespaces. Not even for a moment by the main one: /proc/self and /proc/net
 * show everybody, other threads of ours too, the network in which that is.
 */
export function createLinuxNetworkNamespaces(orders: NamespaceOrders = createNamespaceOrders()): NetworkNamespaces {
  return {
    interfaces: (files) => interfaces(orders, files),
    connectLoopback: (file, port, signal) => connectLoopback(orders, { file, port }, signal),
  };
}

async function interfaces(
  orders: NamespaceOrders,
  files: readonly string[],
): Promise<ReadonlyMap<string, readonly InterfaceCounters[]>> {
  const found = new Map<string, readonly InterfaceCounters[]>();
  for (let start = 0; start < files.length; start += NETWORKS_PER_ORDER) {
    const networks = files.slice(start, start + NETWORKS_PER_ORDER);
    const { texts = [] } = await orders.give({ kind: 'show', networks });
    for (const [index, file] of networks.entries()) {
      const text = texts[index];
      if (text !== undefined) found.set(file, parseNetDev(text));
    }
  }
  return found;
}

async function connectLoopback(
  orders: NamespaceOrders,
  { file, port }: { readonly file: string; readonly port: number },
  signal: AbortSignal,
): Promise<ByteStream> {
  signal.throwIfAborted();
  let refusal: unknown;
  for (const { family, host } of LOOPBACKS) {
    try {
      const { fd } = await orders.give({ kind: 'socket', network: file, family });
      if (fd === undefined) throw new NetworkError('EBADF', `no socket in the network of ${file}`);
      return await connected(fd, host, port, signal);
    } catch (error) {
      signal.throwIfAborted();
      refusal ??= asNetworkError(error); // of IPv4: what a pod without IPv6 says of it helps nobody
    }
  }
  throw refusal;
}

/** Owns the descriptor. */
async function connected(fd: number, host: string, port: number, signal: AbortSignal): Promise<ByteStream> {
  // Node.js begins to read from a descriptor that it is given, unless it is told not to.
  const chunks = new LentChunks();
  const options: SocketConstructorOpts & { readonly manualStart: true } = {
    fd,
    manualStart: true,
    onread: chunks.onread,
  };
  const socket = new Socket(options);
  chunks.follow(socket);
  socket.connect({ host, port });
  await untilConnected(socket, signal);
  return byteStreamOf(socket, chunks);
}
