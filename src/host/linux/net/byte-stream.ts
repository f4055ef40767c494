import { createServer, type Socket } from 'node:net';
import { MessageQueue } from '../../message-queue.ts';
import { type ByteStream, type DialTarget, NetworkError, type SocketFile, type StreamServer } from '../../network.ts';
import { claimSocketFile } from './claim-socket-file.ts';
import { connectTo, untilConnected } from './dial.ts';

/** Serves bytes on a socket file. */
export async function serveStream(address: SocketFile, accept: (stream: ByteStream) => void): Promise<StreamServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    accept(byteStreamOf(socket));
  });
  const file = await claimSocketFile(server, address);
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
      await file.release();
    },
  };
}

export async function connectStream(target: DialTarget, signal: AbortSignal): Promise<ByteStream> {
  signal.throwIfAborted();
  const socket = connectTo(target);
  await untilConnected(socket, signal);
  return byteStreamOf(socket);
}

/** A connected socket as a `ByteStream`; `chunks` replaces the default reader. */
export function byteStreamOf(socket: Socket, chunks: AsyncIterable<Uint8Array> = queuedChunks(socket)): ByteStream {
  socket.allowHalfOpen = true; // each direction ends separately
  socket.setNoDelay(true);
  socket.on('error', () => {}); // followed by 'close'
  return {
    chunks,
    write: (data) =>
      new Promise((resolve, reject) => {
        // Node.js destroys a socket that is written to after its end, with its unread data.
        if (socket.writableEnded) reject(closedError());
        else socket.write(data, (error) => (error ? reject(closedError(error)) : resolve()));
      }),
    end: () => void socket.end(),
    close: () => void socket.destroy(),
  };
}

function queuedChunks(socket: Socket): AsyncIterable<Uint8Array> {
  const chunks = new MessageQueue({ pause: () => socket.pause(), resume: () => socket.resume() });
  socket.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  socket.once('end', () => chunks.end());
  socket.once('close', () => chunks.end());
  return chunks;
}

function closedError(cause?: Error): NetworkError {
  return new NetworkError('EPIPE', 'the connection is closed', { cause });
}
