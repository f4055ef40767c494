import type { ByteStream, WebSocketConnection } from '../../host/network.ts';

/** A connection that is cut into the messages of a WebSocket. It has no end of one side alone. */
export function webSocketByteStream(connection: WebSocketConnection): ByteStream {
  return {
    chunks: bytesOf(connection),
    write: (data) => connection.send(data),
    end: () => connection.close(),
    close: () => connection.close(),
  };
}

async function* bytesOf({ messages }: WebSocketConnection): AsyncGenerator<Uint8Array> {
  try {
    yield* messages;
  } catch {
    // A stream of bytes ends, however that came about.
  }
}
