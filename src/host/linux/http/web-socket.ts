import { WebSocket } from 'ws';
import { MessageQueue } from '../../message-queue.ts';
import { NetworkError, type WebSocketConnection, type WebSocketRequest } from '../../network.ts';
import { connectTo, requireIpAddress } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';

/** Kubernetes' clients treat a close frame without a code as a broken connection. */
const NORMAL_CLOSURE = 1000;

/** A client that does not read this much of pongs is disconnected. */
const MAX_UNSENT_BYTES = 1024 * 1024;

/** Opens a WebSocket connection as a client. */
export function openWebSocket(request: WebSocketRequest, signal: AbortSignal): Promise<WebSocketConnection> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { target, path, protocols } = request;
    const address = requireIpAddress(target);
    const authority = 'socketPath' in address ? 'localhost' : authorityOf(address);
    const socket = new WebSocket(`ws://${authority}${path}`, [...protocols], {
      createConnection: () => connectTo(address),
      perMessageDeflate: false,
    });
    const queue = new MessageQueue({ pause: () => socket.pause(), resume: () => socket.resume() });
    const onAbort = (): void => {
      queue.fail(signal.reason);
      socket.terminate();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('message', (data: Buffer) => queue.push(new Uint8Array(data)));
    socket.on('error', (error) => {
      queue.fail(asNetworkError(error));
      reject(asNetworkError(error));
    });
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      queue.end();
    });
    socket.once('open', () => resolve(connectionOf(socket, queue, socket.protocol)));
  });
}

/** The server's end of an established connection. Sends pongs itself, since the server does not. */
export function serverConnectionOf(socket: WebSocket, protocol: string): WebSocketConnection {
  const queue = new MessageQueue({ pause: () => socket.pause(), resume: () => socket.resume() });
  socket.on('message', (data: Buffer) => queue.push(new Uint8Array(data)));
  socket.on('ping', (data) => (socket.bufferedAmount > MAX_UNSENT_BYTES ? socket.terminate() : socket.pong(data)));
  socket.on('error', (error) => queue.fail(asNetworkError(error)));
  socket.once('close', () => queue.end());
  return connectionOf(socket, queue, protocol);
}

function authorityOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function connectionOf(socket: WebSocket, queue: MessageQueue, protocol: string): WebSocketConnection {
  return {
    protocol,
    messages: queue,
    closed: new Promise((resolve) => socket.once('close', () => resolve())),
    send: (message) =>
      new Promise((resolve, reject) => {
        if (socket.readyState !== WebSocket.OPEN) {
          reject(new NetworkError('EPIPE', 'the WebSocket connection is closed'));
          return;
        }
        const binary = typeof message !== 'string';
        socket.send(message, { binary }, (error) => (error ? reject(asNetworkError(error)) : resolve()));
      }),
    close: () => {
      queue.end();
      socket.resume(); // otherwise the peer's close frame is never read
      socket.close(NORMAL_CLOSURE);
    },
  };
}
