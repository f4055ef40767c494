import type { ByteStream, WebSocketConnection } from '../../host/network.ts';

/** A byte stream inside the messages of a WebSocket. It cannot be half-closed. */
export function webSocketByteStream(connection: WebSocketConnection): ByteStream {
  return {
    chunks: readBytes(connection),
    write: (data) => connection.send(data),
    end: () => connection.close(),
    close: () => connection.close(),
  };
}

async function* readBytes({ messages }: WebSocketConnection): AsyncGenerator<Uint8Array> {
  try {
    yield* messages;
  } catch {
    // An error ends the byte stream.
  }
}
