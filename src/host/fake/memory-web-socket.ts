import { MessageQueue } from '../message-queue.ts';
import { NetworkError, type WebSocketConnection } from '../network.ts';

/** Both ends of one connection. */
export interface WebSocketPair {
  readonly client: WebSocketConnection;
  readonly server: WebSocketConnection;
}

/**
 * Connects two ends. When `signal` aborts, the client's reader sees its reason and the server's reader the end; when
 * `severed` does, both see the end.
 */
export function webSocketPair(protocol: string, signal: AbortSignal, severed: AbortSignal): WebSocketPair {
  const [toClient, toServer] = [new Lane(), new Lane()];
  const ended = Promise.withResolvers<void>();
  const close = (): void => {
    ended.resolve();
    toClient.queue.end();
    toServer.queue.end();
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
    client: { ...common, messages: toClient.queue, send: (message) => toServer.send(message) },
    server: { ...common, messages: toServer.queue, send: (message) => toClient.send(message) },
  };
}

/** One direction. A sender waits while the reader is too far behind. */
class Lane {
  readonly queue = new MessageQueue({
    pause: () => {
      this.#room ??= Promise.withResolvers<void>();
    },
    resume: () => {
      this.#room?.resolve();
      this.#room = undefined;
    },
  });
  #room: PromiseWithResolvers<void> | undefined;
  #state: 'open' | 'closed' = 'open';

  close(): void {
    this.#state = 'closed';
    this.#room?.resolve();
  }

  async send(message: Uint8Array): Promise<void> {
    await this.#room?.promise;
    if (this.#state === 'closed') throw new NetworkError('EPIPE', 'the WebSocket connection is closed');
    this.queue.push(message.slice());
  }
}
