import { readFileSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { type ByteStream, NetworkError } from '../network.ts';
import type { InterfaceCounters, NetworkNamespaces } from '../network-namespaces.ts';
import { byteStreamOf } from './byte-stream.ts';
import { errnoCode } from './errno-code.ts';
import { eventLoopTurn } from './event-loop-turn.ts';
import { parseNetDev } from './net-dev.ts';
import { asNetworkError } from './network-error.ts';

/** After so many the event loop gets its turn: a millisecond. */
const NETWORKS_PER_TURN = 32;
const LOOPBACKS = [
  { family: 'IPv4', host: '127.0.0.1' },
  { family: 'IPv6', host: '::1' },
] as const;

export const linuxNetworkNamespaces: NetworkNamespaces = { interfaces, connectLoopback };

async function interfaces(files: readonly string[]): Promise<ReadonlyMap<string, readonly InterfaceCounters[]>> {
  const { inNetworkNamespace } = await import('./in-network-namespace.ts');
  const found = new Map<string, readonly InterfaceCounters[]>();
  for (const [index, file] of files.entries()) {
    if (index % NETWORKS_PER_TURN === NETWORKS_PER_TURN - 1) await eventLoopTurn();
    try {
      found.set(file, parseNetDev(inNetworkNamespace(file, () => readFileSync('/proc/thread-self/net/dev', 'utf8'))));
    } catch (error) {
      if (!isNoNetwork(error)) throw error;
    }
  }
  return found;
}

/** EINVAL: the file is there, but what it held has been let go. */
function isNoNetwork(error: unknown): boolean {
  return ['ENOENT', 'EINVAL'].includes(errnoCode(error) ?? '');
}

async function connectLoopback(file: string, port: number, signal: AbortSignal): Promise<ByteStream> {
  const { inNetworkNamespace, newSocket } = await import('./in-network-namespace.ts');
  let refusal: unknown;
  for (const { family, host } of LOOPBACKS) {
    try {
      const fd = inNetworkNamespace(file, () => newSocket(family));
      return await connected(fd, host, port, signal);
    } catch (error) {
      signal.throwIfAborted();
      refusal ??= asNetworkError(error); // of IPv4: what a pod without IPv6 says of it helps nobody
    }
  }
  throw refusal;
}

function connected(fd: number, host: string, port: number, signal: AbortSignal): Promise<ByteStream> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    // Node.js begins to read from a descriptor that it is given, unless it is told not to.
    const options: SocketConstructorOpts & { readonly manualStart: true } = { fd, manualStart: true };
    const socket = new Socket(options);
    const onAbort = (): void => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('error', (error) => reject(asNetworkError(error)));
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new NetworkError('ECONNRESET', 'the connection was closed'));
    });
    socket.connect({ host, port }, () => {
      signal.removeEventListener('abort', onAbort);
      resolve(byteStreamOf(socket));
    });
  });
}
