import type { Host } from '../host.ts';
import { createLinuxCgroupStats } from './linux-cgroup-stats.ts';
import { createLinuxCgroups } from './linux-cgroups.ts';
import { linuxClock } from './linux-clock.ts';
import { linuxConnectedPrograms } from './linux-connected-programs.ts';
import { linuxFifos } from './linux-fifos.ts';
import { linuxFileSystem } from './linux-file-system.ts';
import { linuxFolderClaims } from './linux-folder-claims.ts';
import { linuxMachineAddresses } from './linux-machine-addresses.ts';
import { linuxMounts } from './linux-mounts.ts';
import { createLinuxNamespaces } from './linux-namespaces.ts';
import { linuxNetwork } from './linux-network.ts';
import { createLinuxNetworkNamespaces } from './linux-network-namespaces.ts';
import { linuxPacketSockets } from './linux-packet-sockets.ts';
import { createLinuxProcesses } from './linux-processes.ts';
import { linuxRandom } from './linux-random.ts';
import { linuxSigningKeys } from './linux-signing-keys.ts';
import { createNamespaceOrders } from './namespace-orders.ts';

/** The machine that we run on. Cheap to make: what takes long to load is loaded at its first use. */
export function createLinuxHost(): Host {
  const [clock, fs] = [linuxClock, linuxFileSystem];
  const orders = createNamespaceOrders();
  return {
    clock,
    random: linuxRandom,
    signingKeys: linuxSigningKeys,
    fs,
    folderClaims: linuxFolderClaims,
    fifos: linuxFifos,
    mounts: linuxMounts,
    namespaces: createLinuxNamespaces(orders),
    processes: createLinuxProcesses(),
    connectedPrograms: linuxConnectedPrograms,
    cgroups: createLinuxCgroups({ fs, clock }),
    cgroupStats: createLinuxCgroupStats(),
    network: linuxNetwork,
    addresses: linuxMachineAddresses,
    networkNamespaces: createLinuxNetworkNamespaces(orders),
    packetSockets: linuxPacketSockets,
  };
}
