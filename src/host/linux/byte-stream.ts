import { createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { MessageQueue } from '../message-queue.ts';
import { type ByteStream, type DialTarget, NetworkError, type SocketFile, type StreamServer } from '../network.ts';
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

/** A connected socket as the port shows it. */
export function byteStreamOf(socket: Duplex): ByteStream {
  const chunks = new MessageQueue({ pause: () => socket.pause(), resume: () => socket.resume() });
  socket.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  socket.on('error', () => {}); // followed by 'close'
  socket.once('end', () => socket.destroy());
  socket.once('close', () => chunks.end());
  return {
    chunks,
    write: (data) =>
      new Promise((resolve, reject) => {
        socket.write(data, (error) => {
          if (error) reject(new NetworkError('EPIPE', 'the connection is closed', { cause: error }));
          else resolve();
        });
      }),
    close: () => void socket.destroy(),
  };
}
