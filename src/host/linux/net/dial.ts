import { connect, isIP, type Socket } from 'node:net';
import { type Connection, type DialTarget, NetworkError } from '../../network.ts';
import { asNetworkError } from './network-error.ts';

/** The target, once it is sure that no name is to be looked up: that is the caller's decision. Throws otherwise. */
export function addressOf(target: DialTarget): DialTarget {
  if ('host' in target && isIP(target.host) === 0) {
    throw new NetworkError('ENOTFOUND', `${target.host} is not an IP address`);
  }
  return target;
}

/** Starts to connect. */
export function connectTo(target: DialTarget): Socket {
  const address = addressOf(target);
  return connect('socketPath' in address ? { path: address.socketPath } : address);
}

/** Connects, and nothing else. */
export async function dial(target: DialTarget, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted();
  const socket = connectTo(target);
  await untilConnected(socket, signal);
  return connectionOf(socket);
}

/** Of one that has begun to connect. Rejects with a `NetworkError` or the signal's reason; then it is closed. */
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
  socket.resume(); // what the other side sends is of no interest, but its end is
  return { close: () => void socket.destroy() };
}
