import { connect, isIP, type Socket } from 'node:net';
import { type Connection, type DialTarget, NetworkError } from '../../network.ts';
import { asNetworkError } from './network-error.ts';

/** Returns the target; throws if it is a host name: only `Network.lookup` resolves names. */
export function requireIpAddress(target: DialTarget): DialTarget {
  if ('host' in target && isIP(target.host) === 0) {
    throw new NetworkError('ENOTFOUND', `${target.host} is not an IP address`);
  }
  return target;
}

/** Starts to connect. */
export function connectTo(target: DialTarget): Socket {
  const address = requireIpAddress(target);
  return connect('socketPath' in address ? { path: address.socketPath } : address);
}

/** Connects without sending anything. */
export async function dial(target: DialTarget, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted();
  const socket = connectTo(target);
  await untilConnected(socket, signal);
  return connectionOf(socket);
}

/** Waits for a connecting socket. Rejects with a `NetworkError` or the signal's reason; the socket is then closed. */
export function untilConnected(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', (error) => reject(asNetworkError(error)));
    socket.once('connect', resolve);
    socket.once('close', () => reject(new NetworkError('ECONNRESET', 'the connection was closed')));
    for (const event of ['connect', 'close']) {
      socket.once(event, () => signal.removeEventListener('abort', onAbort));
    }
    if (signal.aborted) onAbort();
  });
}

function connectionOf(socket: Socket): Connection {
  socket.resume(); // received data is dropped, so that the end is noticed
  return { close: () => void socket.destroy() };
}
