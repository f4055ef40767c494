import { resolve } from 'node:path/posix';
import type { MachineFacts } from '../host/machine-facts.ts';
import type { VerificationPolicy } from '../kubelet/images/judge-present-image.ts';
import type { ChangeDetection } from '../kubelet/objects/fetched-objects.ts';
import type { AgentSettings } from './agent.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { TOKENS_GATE } from './config/validate-token-attributes.ts';
import type { ImagePullSettings } from './build-image-pulls.ts';

/** Where log collectors look; kubelet knows no other place. */
const CONTAINER_LOGS_DIR = '/var/log/containers';

/** The slice of kubelet's configuration that the agent works with; `hostIPs` when it is known where the node is. */
export function agentSettings(
  settings: KubeletSettings,
  machine: MachineFacts,
  hostIPs: readonly string[] = [],
): AgentSettings {
  const { config, parsed, flags, featureGates, nodeName } = settings;
  return {
    nodeName,
    hostIPs: hostIPs.length > 0 ? hostIPs : primaryAddress(machine),
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
    imagePulls: imagePullSettings(settings),
    memoryCapacityBytes: machine.memoryBytes,
    containerLogs: {
      maxBytes: parsed.containerLogMaxBytes,
      maxFiles: config.containerLogMaxFiles,
      maxWorkers: config.containerLogMaxWorkers,
      monitorIntervalMs: parsed.ms.containerLogMonitorInterval,
    },
    swapBehavior: config.memorySwap.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
    singleProcessOOMKill: config.singleProcessOOMKill,
    userNamespaceIdsPerPod: config.userNamespaces?.idsPerPod,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    envFiles: featureGates.get('EnvFiles'),
    containerStopSignals: featureGates.get('ContainerStopSignals'),
    unusedImages: {
      highPercent: config.imageGCHighThresholdPercent,
      lowPercent: config.imageGCLowThresholdPercent,
      minimumAgeMs: parsed.ms.imageMinimumGCAge,
      maximumAgeMs: parsed.ms.imageMaximumGCAge,
    },
    changeDetection: changeDetection(config),
    eventRate: { qps: config.eventRecordQPS || 5, burst: config.eventBurst || 10 }, // client-go takes 0 for these
    deadContainers: {
      minimumAgeMs: flags.minimumContainerTtlMs,
      maxPerContainer: asLimit(flags.maximumDeadContainersPerContainer),
      maxTotal: asLimit(flags.maximumDeadContainers),
    },
  };
}

function imagePullSettings({ config, flags, featureGates }: KubeletSettings): ImagePullSettings {
  const { imageCredentialProviderConfig: path = '', imageCredentialProviderBinDir: binDir = '' } = flags;
  return {
    rate: { qps: config.registryPullQPS, burst: config.registryBurst },
    verification: featureGates.get('KubeletEnsureSecretPulledImages') ? verificationPolicy(config) : undefined,
    providers: path === '' && binDir === '' ? undefined : { config: path, binDir },
    serviceAccountTokens: featureGates.get(TOKENS_GATE),
    workingDir: resolve(),
    homeDir: process.env['HOME'],
  };
}

function verificationPolicy(config: KubeletSettings['config']): VerificationPolicy | undefined {
  const { imagePullCredentialsVerificationPolicy: kind, preloadedImagesVerificationAllowlist: allowlist = [] } = config;
  switch (kind) {
    case 'NeverVerifyAllowlistedImages':
      return { kind, allowlist };
    case 'NeverVerify':
    case 'NeverVerifyPreloadedImages':
    case 'AlwaysVerify':
      return { kind };
    default:
      return undefined; // refused when the configuration was checked
  }
}

function changeDetection({
  configMapAndSecretChangeDetectionStrategy: how,
}: KubeletSettings['config']): ChangeDetection {
  return how === 'Cache' || how === 'Get' ? how : 'Watch'; // anything else was refused when it was checked
}

/** kubelet says "no limit" with a number below zero. */
function asLimit(count: number): number | undefined {
  return count < 0 ? undefined : count;
}

function primaryAddress({ addresses }: MachineFacts): readonly string[] {
  return [addresses[0] ?? '127.0.0.1'];
}
