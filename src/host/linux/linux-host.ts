import process from 'node:process';
import type { Host } from '../host.ts';
import { createLinuxCgroupStats } from './cgroup/linux-cgroup-stats.ts';
import { createLinuxCgroups } from './cgroup/linux-cgroups.ts';
import { createLinuxPressureEvents } from './cgroup/linux-pressure-events.ts';
import { linuxFifos } from './fs/linux-fifos.ts';
import { linuxFileSystem } from './fs/linux-file-system.ts';
import { linuxFolderClaims } from './fs/linux-folder-claims.ts';
import { linuxLockFiles } from './fs/linux-lock-files.ts';
import { linuxProjectQuotas } from './fs/linux-project-quotas.ts';
import { linuxNetwork } from './linux-network.ts';
import { linuxRandom } from './linux-random.ts';
import { linuxSigningKeys } from './linux-signing-keys.ts';
import { linuxMounts } from './mount/linux-mounts.ts';
import { createLinuxNamespaces } from './namespace/linux-namespaces.ts';
import { createLinuxNetworkNamespaces } from './namespace/linux-network-namespaces.ts';
import { createNamespaceThreadClient } from './namespace/namespace-thread-client.ts';
import { linuxConnectedPrograms } from './net/linux-connected-programs.ts';
import { linuxMachineAddresses } from './net/linux-machine-addresses.ts';
import { linuxPacketSockets } from './net/linux-packet-sockets.ts';
import { createLinuxKernelLog } from './proc/linux-kernel-log.ts';
import { linuxClock } from './process/linux-clock.ts';
import { linuxJavaScriptEngine } from './process/linux-javascript-engine.ts';
import { createLinuxProcesses } from './process/linux-processes.ts';
import { createLinuxProfiler } from './process/linux-profiler.ts';
import { createLinuxServiceManager, SERVICE_VARIABLES } from './process/linux-service-manager.ts';
import type { Environment } from './process/run-command.ts';
import { createLinuxLoginManager } from './systemd/linux-login-manager.ts';
import { createLinuxSystemd } from './systemd/linux-systemd.ts';

/** The ports to this machine. Cheap to create: expensive modules are loaded on first use. */
export function createLinuxHost(env: Environment): Host {
  const [clock, fs] = [linuxClock, linuxFileSystem];
  const namespaceThread = createNamespaceThreadClient();
  return {
    clock,
    random: linuxRandom,
    signingKeys: linuxSigningKeys,
    fs,
    folderClaims: linuxFolderClaims,
    lockFiles: linuxLockFiles,
    fifos: linuxFifos,
    mounts: linuxMounts,
    projectQuotas: linuxProjectQuotas,
    namespaces: createLinuxNamespaces(namespaceThread),
    processes: createLinuxProcesses(withoutServiceVariables(env)),
    connectedPrograms: linuxConnectedPrograms,
    profiler: createLinuxProfiler(clock),
    cgroups: createLinuxCgroups({ fs, clock }),
    cgroupStats: createLinuxCgroupStats(),
    pressureEvents: createLinuxPressureEvents(),
    systemd: createLinuxSystemd(),
    loginManager: createLinuxLoginManager({ env: withoutServiceVariables(env) }),
    kernelLog: createLinuxKernelLog(),
    javaScriptEngine: linuxJavaScriptEngine,
    serviceManager: createLinuxServiceManager(env, process.pid),
    network: linuxNetwork,
    addresses: linuxMachineAddresses,
    networkNamespaces: createLinuxNetworkNamespaces(namespaceThread),
    packetSockets: linuxPacketSockets,
  };
}

/** A program that notified the service manager would do so in the name of the agent. */
function withoutServiceVariables(env: Environment): Environment {
  const names: readonly string[] = SERVICE_VARIABLES;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}
