import { errorText } from '../base/error-text.ts';
import type { Log } from '../base/log.ts';
import type { CgroupDriver } from '../host/cgroups.ts';
import { resolvConfWarning } from '../kubelet/host-network/resolv-conf-limits.ts';
import type { NodeEvent } from '../kubelet/node/node-event.ts';
import type { NodeSettings } from '../kubelet/node/node-settings.ts';
import { readMachineResources } from '../kubelet/node/status/machine-resources.ts';
import { type MachineResources, overReserved } from '../kubelet/node/status/node-resources.ts';
import { readHostFacts } from '../kubelet/resources/host-facts.ts';
import { hugePagePools, hugePageSizeText } from '../kubelet/resources/huge-pages.ts';
import { enforceReserved, reservedCgroups } from '../kubelet/system-containers/enforce-reserved.ts';
import { setUpKernelTunables } from '../kubelet/system-containers/kernel-tunables.ts';
import { checkSystemCgroups, type SystemCgroupSettings } from '../kubelet/system-containers/system-cgroups.ts';
import type { AgentProcess } from './agent-process.ts';
import { cgroupsOfDriver } from './cgroup-driver.ts';
import { EMBEDDED } from './config/embedded-endpoint.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { StartupError } from './embedded/startup-error.ts';

export interface PreparationDeps {
  readonly process: Pick<AgentProcess, 'host' | 'machine'>;
  readonly cgroupDriver: CgroupDriver;
  readonly node: NodeSettings;
  readonly log: Log;
}

/**
 * Sets up the machine as kubelet does when it starts: kernel flags, the limit of open files, the cgroups of the system's and
 * of Kubernetes' own daemons. Returns the events of the node. Rejects with a `StartupError` where kubelet does not start.
 */
export async function prepareNode(settings: KubeletSettings, deps: PreparationDeps): Promise<readonly NodeEvent[]> {
  const { config } = settings;
  const { host } = deps.process;
  if (config.containerRuntimeEndpoint !== EMBEDDED) await limitOpenFiles(config.maxOpenFiles, deps);
  const events = await startContainerManager(settings, deps).catch((error: unknown) => {
    throw new StartupError(`Failed to start ContainerManager: ${errorText(error)}`, { cause: error });
  });
  const { resolvConf, clusterDomain = '' } = config;
  const warning = await resolvConfWarning({ resolvConf, clusterDomain }, host.fs);
  return warning === undefined
    ? events
    : [...events, { type: 'Warning', reason: 'CheckLimitsForResolvConf', message: warning }];
}

/** Containers of the embedded runtime inherit the limit of this process, which the operator sets (`LimitNOFILE=`). */
async function limitOpenFiles(count: number, { process: { host }, log }: PreparationDeps): Promise<void> {
  await host.processes.limitOpenFiles(count).catch((error: unknown) => {
    log.error('Failed to set rlimit on max file handles', { error: errorText(error) });
  });
}

async function startContainerManager(
  settings: KubeletSettings,
  { process: { host, machine }, cgroupDriver, node, log }: PreparationDeps,
): Promise<readonly NodeEvent[]> {
  const { config, parsed, featureGates } = settings;
  const { fs } = host;
  const { memoryBytes } = machine;
  const { cpuCount } = await readHostFacts(host);
  requireReservations(await readMachineResources({ cpuCount, memoryBytes }, node.rootDir, fs), node);
  await setUpKernelTunables(config.protectKernelDefaults ?? false, { fs, log });
  checkSystemCgroups(systemCgroups(settings));
  const cgroups = cgroupsOfDriver({ cgroupDriver }, host);
  const protectsMemory = featureGates.get('MemoryQoS') ?? false;
  const hugePageSizes = (await hugePagePools(fs)).map((kibibytes) => hugePageSizeText(BigInt(kibibytes) * 1024n));
  const events: NodeEvent[] = [];
  const names = { system: config.systemReservedCgroup ?? '', kube: config.kubeReservedCgroup ?? '' };
  const reserved = { system: parsed.systemReserved, kube: parsed.kubeReserved };
  for (const each of reservedCgroups(config.enforceNodeAllocatable, names, reserved)) {
    const message = await enforceReserved(each, { cgroups, cgroupDriver, protectsMemory, hugePageSizes });
    events.push({ type: 'Normal', reason: 'NodeAllocatableEnforced', message });
  }
  return events;
}

function requireReservations(machine: MachineResources, node: NodeSettings): void {
  const errors = overReserved(machine, node);
  if (errors.length > 0) throw new Error(`invalid Node Allocatable configuration. ${errors.join(' ')}`);
}

export function systemCgroups({ config }: KubeletSettings): SystemCgroupSettings {
  return { system: config.systemCgroups || undefined, kubelet: config.kubeletCgroups || undefined };
}
