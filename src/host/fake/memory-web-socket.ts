import type { WebSocketConnection } from '../network.ts';
import { DirectionalQueue } from './directional-queue.ts';

/** Both ends of one connection. */
export interface WebSocketPair {
  readonly client: WebSocketConnection;
  readonly server: WebSocketConnection;
}

/**
 * Connects two ends. When `signal` aborts, the client's reader throws its reason and the server's reader ends; when
 * `severed` aborts, both readers end.
 */
export function webSocketPair(protocol: string, signal: AbortSignal, severed: AbortSignal): WebSocketPair {
  const [toClient, toServer] = [new DirectionalQueue('messages'), new DirectionalQueue('messages')];
  const ended = Promise.withResolvers<void>();
  const close = (): void => {
    ended.resolve();
    toClient.close();
    toServer.close();
    signal.removeEventListener('abort', onAbort);
    severed.removeEventListener('abort', close);
  };
  const onAbort = (): void => {
    toClient.queue.fail(signal.reason);
    close();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  severed.addEventListener('abort', close, { once: true });
  const common = { protocol, closed: ended.promise, close };
  return {
    client: { ...common, messages: toClient.queue, send: (message) => toServer.send(bytesOf(message)) },
    server: { ...common, messages: toServer.queue, send: (message) => toClient.send(bytesOf(message)) },
  };
}

function bytesOf(message: Uint8Array | string): Uint8Array {
  return typeof message === 'string' ? new TextEncoder().encode(message) : message;
}
