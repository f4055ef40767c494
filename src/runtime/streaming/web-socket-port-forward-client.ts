import { BackpressureQueue } from '../../host/backpressure-queue.ts';
import type { WebSocketConnection } from '../../host/network.ts';
import { Inbox } from '../../streams/inbox.ts';
import { type ChannelEncoding, decodeChannel, encodeChannel } from './channel-messages.ts';
import type { ForwardedConnection, PortForwardClient } from './port-forward-client.ts';

/** The channel is one byte, and a port has two channels. */
export const MAX_FORWARDED_PORTS = 128;

/**
 * A client with one connection per port. A port has two channels: an even one for data, and the following odd one for
 * errors. The first message on each names the port. Connections cannot be half-closed.
 */
export async function openWebSocketPortForwardClient(
  connection: WebSocketConnection,
  ports: readonly number[],
  encoding: ChannelEncoding,
): Promise<PortForwardClient> {
  const send = (channel: number, data: Uint8Array): Promise<void> =>
    connection.send(encodeChannel(encoding, channel, data));
  const connections = new Inbox<ForwardedConnection>();
  const open = new Map<number, BackpressureQueue>();
  const closeChannel = (channel: number): void => {
    open.get(channel)?.end();
    open.delete(channel);
    if (open.size === 0) connection.close();
  };
  for (const [index, port] of ports.entries()) {
    const channel = 2 * index;
    const input = new BackpressureQueue();
    open.set(channel, input);
    await send(channel, portBytes(port));
    await send(channel + 1, portBytes(port));
    connections.put({
      port,
      chunks: input,
      write: (data) => send(channel, data),
      end: async () => closeChannel(channel),
      fail: async (message) => {
        await send(channel + 1, Buffer.from(message));
        closeChannel(channel);
      },
      close: async () => closeChannel(channel),
      closed: connection.closed,
    });
  }
  const listen = async (): Promise<void> => {
    try {
      for await (const message of connection.messages) {
        const decoded = decodeChannel(encoding, message);
        if (decoded) await open.get(decoded.channel)?.put(decoded.data);
      }
    } catch {
      // The connection failed: the client is gone.
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
