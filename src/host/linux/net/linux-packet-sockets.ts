import type { PacketSockets } from '../../packet-sockets.ts';

/** Sockets of this machine that carry packets. */
export const linuxPacketSockets: PacketSockets = {
  connect: async (socketPath, signal) => {
    const { connectPackets } = await import('./packet-connection.ts'); // only who attaches needs it
    return connectPackets(socketPath, signal);
  },
};
