import { Socket, type SocketConstructorOpts } from 'node:net';
import { parseNetDev } from '../../net-dev.ts';
import { type ByteStream, NetworkError } from '../../network.ts';
import type { InterfaceCounters, NetworkNamespaces } from '../../network-namespaces.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { untilConnected } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { ReusedBufferChunks } from '../process/reused-buffer-chunks.ts';
import { createNamespaceThreadClient, type NamespaceThreadClient } from './namespace-thread-client.ts';

/** Bounds one request to about a millisecond, so that others are not delayed. */
const NETWORKS_PER_REQUEST = 32;
const LOOPBACKS = [
  { family: 'IPv4', host: '127.0.0.1' },
  { family: 'IPv6', host: '::1' },
] as const;

/**
 * Other network namespaces, entered by the namespace thread only. The main thread must never enter one: /proc/self and
 * /proc/net show all readers, other threads too, the network of the main thread.
 */
export function createLinuxNetworkNamespaces(
  thread: NamespaceThreadClient = createNamespaceThreadClient(),
): NetworkNamespaces {
  return {
    interfaces: (files) => interfaces(thread, files),
    connectLoopback: (file, port, signal) => connectLoopback(thread, { file, port }, signal),
  };
}

async function interfaces(
  thread: NamespaceThreadClient,
  files: readonly string[],
): Promise<ReadonlyMap<string, readonly InterfaceCounters[]>> {
  const found = new Map<string, readonly InterfaceCounters[]>();
  for (let start = 0; start < files.length; start += NETWORKS_PER_REQUEST) {
    const networks = files.slice(start, start + NETWORKS_PER_REQUEST);
    const { texts = [] } = await thread.request({ kind: 'show', networks });
    for (const [index, file] of networks.entries()) {
      const text = texts[index];
      if (text !== undefined) found.set(file, parseNetDev(text));
    }
  }
  return found;
}

async function connectLoopback(
  thread: NamespaceThreadClient,
  { file, port }: { readonly file: string; readonly port: number },
  signal: AbortSignal,
): Promise<ByteStream> {
  signal.throwIfAborted();
  let firstError: unknown;
  for (const { family, host } of LOOPBACKS) {
    try {
      const { fd } = await thread.request({ kind: 'socket', network: file, family });
      if (fd === undefined) throw new NetworkError('EBADF', `no socket in the network of ${file}`);
      return await connected(fd, host, port, signal);
    } catch (error) {
      signal.throwIfAborted();
      firstError ??= asNetworkError(error); // of IPv4: the error of a pod without IPv6 does not help
    }
  }
  throw firstError;
}

/** Owns the descriptor. */
async function connected(fd: number, host: string, port: number, signal: AbortSignal): Promise<ByteStream> {
  // Without `manualStart` Node.js starts to read from the descriptor at once.
  const chunks = new ReusedBufferChunks();
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
