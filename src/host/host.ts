import type { CgroupStats } from './cgroup-stats.ts';
import type { Cgroups } from './cgroups.ts';
import type { Clock } from './clock.ts';
import type { ConnectedPrograms } from './connected-programs.ts';
import type { Fifos } from './fifos.ts';
import type { FileSystem } from './file-system.ts';
import type { FolderClaims } from './folder-claims.ts';
import type { JavaScriptEngine } from './javascript-engine.ts';
import type { KernelLog } from './kernel-log.ts';
import type { LockFiles } from './lock-files.ts';
import type { LoginManager } from './login-manager.ts';
import type { MachineAddresses } from './machine-addresses.ts';
import type { Mounts } from './mounts.ts';
import type { Namespaces } from './namespaces.ts';
import type { Network } from './network.ts';
import type { NetworkNamespaces } from './network-namespaces.ts';
import type { PacketSockets } from './packet-sockets.ts';
import type { PressureEvents } from './pressure-events.ts';
import type { Processes } from './processes.ts';
import type { Profiler } from './profiler.ts';
import type { ProjectQuotas } from './project-quotas.ts';
import type { Random } from './random.ts';
import type { ServiceManager } from './service-manager.ts';
import type { SigningKeys } from './signing-keys.ts';
import type { Systemd } from './systemd.ts';

/**
 * The ports to everything outside the process, except CRI (src/cri) and the API server (src/kubelet/api-client). Only the
 * composition root holds a whole `Host`; each component takes the ports it uses.
 */
export interface Host {
  readonly clock: Clock;
  readonly random: Random;
  readonly signingKeys: SigningKeys;
  readonly fs: FileSystem;
  readonly folderClaims: FolderClaims;
  readonly lockFiles: LockFiles;
  readonly fifos: Fifos;
  readonly mounts: Mounts;
  readonly projectQuotas: ProjectQuotas;
  readonly namespaces: Namespaces;
  readonly processes: Processes;
  readonly connectedPrograms: ConnectedPrograms;
  readonly profiler: Profiler;
  readonly cgroups: Cgroups;
  readonly cgroupStats: CgroupStats;
  readonly pressureEvents: PressureEvents;
  readonly systemd: Systemd;
  readonly loginManager: LoginManager;
  readonly kernelLog: KernelLog;
  readonly javaScriptEngine: JavaScriptEngine;
  readonly serviceManager: ServiceManager;
  readonly network: Network;
  readonly addresses: MachineAddresses;
  readonly networkNamespaces: NetworkNamespaces;
  readonly packetSockets: PacketSockets;
}
