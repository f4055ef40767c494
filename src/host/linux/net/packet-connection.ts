import type { Socket } from 'node:net';
import { MessageQueue } from '../../message-queue.ts';
import { NetworkError } from '../../network.ts';
import type { PacketConnection } from '../../packet-sockets.ts';
import { openDescriptorStream } from '../sys/descriptor-stream.ts';
import { connectPacketSocket } from './connect-packet-socket.ts';
import { asNetworkError } from './network-error.ts';

/** More than a default socket buffer takes in one packet. */
const MAX_PACKET_BYTES = 256 * 1024;

/** Shared by all connections: each packet is read into it and copied at once. */
let received: Buffer | undefined;

export async function connectPackets(socketPath: string, signal: AbortSignal): Promise<PacketConnection> {
  return packetConnection(await connectPacketSocket(socketPath, signal));
}

/** A connected socket as a `PacketConnection`; owns the descriptor. */
export function packetConnection(fd: number): PacketConnection {
  received ??= Buffer.alloc(MAX_PACKET_BYTES);
  const buffer = received;
  const packets = new MessageQueue({ pause: () => socket.pause(), resume: () => socket.resume() });
  // By `onread`, because a stream may join unread chunks.
  const callback = (bytes: number): boolean => {
    packets.push(Uint8Array.prototype.slice.call(buffer, 0, bytes));
    return true;
  };
  const socket = openDescriptorStream(fd, { allowHalfOpen: true, onread: { buffer, callback } });
  socket.on('error', () => {}); // followed by `close`
  socket.once('end', () => packets.end());
  socket.once('close', () => packets.end());
  socket.resume();
  // Each packet waits for the previous one: a stream would join buffered packets into one write.
  let last: Promise<void> = Promise.resolve();
  return {
    packets,
    send: (packet) => {
      const sent = last.then(() => writePacket(socket, packet));
      last = sent.catch(() => {});
      return sent;
    },
    end: () => {
      last = last.then(() => void socket.end());
    },
    close: () => void socket.destroy(),
  };
}

function writePacket(socket: Socket, packet: Uint8Array): Promise<void> {
  if (packet.byteLength === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    if (socket.destroyed || socket.writableEnded) return reject(closed());
    // A stream that is destroyed meanwhile may not call back.
    const onClose = (): void => reject(closed());
    socket.once('close', onClose);
    socket.write(packet, (error) => {
      socket.off('close', onClose);
      if (error) reject(asNetworkError(error));
      else resolve();
    });
  });
}

function closed(): NetworkError {
  return new NetworkError('EPIPE', 'the connection is closed');
}
