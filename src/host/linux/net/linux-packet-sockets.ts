import type { PacketSockets } from '../../packet-sockets.ts';

/** Packet sockets of this machine. */
export const linuxPacketSockets: PacketSockets = {
  connect: async (socketPath, signal) => {
    const { connectPackets } = await import('./packet-connection.ts'); // needed only to attach
    return connectPackets(socketPath, signal);
  },
};
