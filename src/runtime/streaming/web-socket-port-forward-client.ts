import type { WebSocketConnection } from '../../host/network.ts';
import { PacedQueue } from '../../host/paced-queue.ts';
import { Inbox } from '../../streams/inbox.ts';
import { type ChannelEncoding, decodeChannel, encodeChannel } from './channel-messages.ts';
import type { ForwardedConnection, PortForwardClient } from './port-forward-client.ts';

/** A message begins with one byte for its channel, and a port has two channels. */
export const MAX_FORWARDED_PORTS = 128;

/**
 * A client with one connection to each of its ports. A port has two channels: an even one for its data, the odd one after it
 * for errors; the first message on each names the port. No side of a connection can end by itself.
 */
export async function openWebSocketPortForwardClient(
  connection: WebSocketConnection,
  ports: readonly number[],
  encoding: ChannelEncoding,
): Promise<PortForwardClient> {
  const send = (channel: number, data: Uint8Array): Promise<void> =>
    connection.send(encodeChannel(encoding, channel, data));
  const connections = new Inbox<ForwardedConnection>();
  const open = new Map<number, PacedQueue>();
  const over = (channel: number): void => {
    open.get(channel)?.end();
    open.delete(channel);
    if (open.size === 0) connection.close();
  };
  for (const [index, port] of ports.entries()) {
    const channel = 2 * index;
    const input = new PacedQueue();
    open.set(channel, input);
    await send(channel, portBytes(port));
    await send(channel + 1, portBytes(port));
    connections.put({
      port,
      chunks: input,
      write: (data) => send(channel, data),
      end: async () => over(channel),
      fail: async (message) => {
        await send(channel + 1, Buffer.from(message));
        over(channel);
      },
      close: async () => over(channel),
      closed: connection.closed,
    });
  }
  const listen = async (): Promise<void> => {
    try {
      for await (const message of connection.messages) {
        const said = decodeChannel(encoding, message);
        if (said) await open.get(said.channel)?.put(said.data);
      }
    } catch {
      // A connection that fails is a client that is gone.
    }
    for (const input of open.values()) input.end();
    connections.end();
  };
  void listen();
  if (ports.length === 0) connection.close();
  return { connections, gone: connection.closed, close: () => connection.close() };
}

/** Little-endian. */
function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port & 0xff, port >> 8);
}
