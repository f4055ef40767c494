import type { MachineFacts } from '../host/machine-facts.ts';
import type { AgentSettings } from './agent.ts';
import type { KubeletSettings } from './config/load-config.ts';

/** Where log collectors look; kubelet knows no other place. */
const CONTAINER_LOGS_DIR = '/var/log/containers';

/** The slice of kubelet's configuration that the agent works with. */
export function agentSettings(settings: KubeletSettings, machine: MachineFacts): AgentSettings {
  const { config, parsed, flags, nodeName } = settings;
  return {
    nodeName,
    hostIPs: flags.nodeIp ? flags.nodeIp.split(',') : primaryAddress(machine),
    rootDir: flags.rootDir,
    podLogsDir: config.podLogsDir,
    containerLogsDir: CONTAINER_LOGS_DIR,
    cgroupRoot: config.cgroupRoot || '/',
    clusterDns: config.clusterDNS ?? [],
    clusterDomain: config.clusterDomain ?? '',
    resolvConf: config.resolvConf,
    maxPods: config.maxPods,
    podPidsLimit: config.podPidsLimit,
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsQuotaPeriodMs: parsed.ms.cpuCFSQuotaPeriod,
    seccompDefault: config.seccompDefault,
    maxContainerRestartPeriodMs: parsed.ms['crashLoopBackOff.maxContainerRestartPeriod'],
    syncFrequencyMs: parsed.ms.syncFrequency,
    serializeImagePulls: config.serializeImagePulls,
    maxParallelImagePulls: config.maxParallelImagePulls,
    memoryCapacityBytes: machine.memoryBytes,
  };
}

function primaryAddress({ addresses }: MachineFacts): readonly string[] {
  return [addresses[0] ?? '127.0.0.1'];
}
