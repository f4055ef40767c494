import { resolve } from 'node:path/posix';
import type { CgroupDriver } from '../host/cgroups.ts';
import type { MachineFacts } from '../host/machine-facts.ts';
import type { CpuManagerSettings } from '../kubelet/cpu-manager/cpu-manager-settings.ts';
import type { VerificationPolicy } from '../kubelet/images/image-access.ts';
import type { ChangeDetection } from '../kubelet/objects/fetched-objects.ts';
import type { MemoryQos, MemoryReservationPolicy } from '../kubelet/resources/memory-qos.ts';
import type { QosReserved } from '../kubelet/resources/qos-reserved.ts';
import { type ShutdownSettings, shutdownPeriods } from '../kubelet/shutdown/shutdown-groups.ts';
import { TOPOLOGY_POLICIES, type TopologySettings } from '../kubelet/topology/topology-options.ts';
import type { AgentSettings } from './agent.ts';
import type { ImagePullSettings } from './build-image-pulls.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { TOKENS_GATE } from './config/validate-token-attributes.ts';

/** Where log collectors read; fixed in kubelet. */
const CONTAINER_LOGS_DIR = '/var/log/containers';

/** A negative period does not make the agent spin. */
const MIN_RECONCILE_MS = 100;

export interface ProcessFacts {
  /** The environment of the process: `HOME`, and what credential provider plugins inherit. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The addresses of the node; absent: the machine's first address. */
  readonly hostIPs?: readonly string[];
  /** Absent: cgroupfs. */
  readonly cgroupDriver?: CgroupDriver;
}

/** The slice of kubelet's configuration that the agent works with. */
export function agentSettings(
  settings: KubeletSettings,
  machine: MachineFacts,
  { env = {}, hostIPs = [], cgroupDriver }: ProcessFacts = {},
): AgentSettings {
  const { config, parsed, flags, featureGates, nodeName } = settings;
  return {
    nodeName,
    hostIPs: hostIPs.length > 0 ? hostIPs : primaryAddress(machine),
    rootDir: flags.rootDir,
    podLogsDir: config.podLogsDir,
    containerLogsDir: CONTAINER_LOGS_DIR,
    cgroupRoot: config.cgroupRoot || '/',
    cgroupDriver,
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
    imagePulls: imagePullSettings(settings, env),
    memoryCapacityBytes: machine.memoryBytes,
    containerLogs: {
      maxBytes: parsed.containerLogMaxBytes,
      maxFiles: config.containerLogMaxFiles,
      maxWorkers: config.containerLogMaxWorkers,
      monitorIntervalMs: parsed.ms.containerLogMonitorInterval,
    },
    swapBehavior: config.memorySwap.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
    singleProcessOOMKill: config.singleProcessOOMKill,
    memoryQos: featureGates.get('MemoryQoS') ? memoryQos(settings, machine) : undefined,
    qosReserved: featureGates.get('QOSReserved') ? qosReserved(settings, machine) : undefined,
    userNamespaceIdsPerPod: config.userNamespaces?.idsPerPod,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    topologyManager: topologySettings(config),
    memoryManager: {
      policy: config.memoryManagerPolicy === 'Static' ? 'Static' : 'None', // validation rejects other values
      reserved: config.reservedMemory ?? [],
    },
    cpuManager: cpuManagerSettings(settings),
    volumeStatsPeriodMs: parsed.ms.volumeStatsAggPeriod,
    systemCgroup: config.systemCgroups || undefined,
    kubeletCgroup: config.kubeletCgroups || undefined,
    staticManagers: staticManagers(settings),
    shutdown: shutdownSettings(settings),
    ...gateSettings(settings),
    unusedImages: {
      highPercent: config.imageGCHighThresholdPercent,
      lowPercent: config.imageGCLowThresholdPercent,
      minimumAgeMs: parsed.ms.imageMinimumGCAge,
      maximumAgeMs: parsed.ms.imageMaximumGCAge,
    },
    changeDetection: changeDetection(config),
    eventRate: { qps: config.eventRecordQPS || 5, burst: config.eventBurst || 10 }, // client-go reads 0 as these defaults
    deadContainers: {
      minimumAgeMs: flags.minimumContainerTtlMs,
      maxPerContainer: asLimit(flags.maximumDeadContainersPerContainer),
      maxTotal: asLimit(flags.maximumDeadContainers),
    },
  };
}

type GateSettings = Pick<
  AgentSettings,
  | 'envFiles'
  | 'containerStopSignals'
  | 'clusterTrustBundleProjection'
  | 'resourceHealthStatus'
  | 'podCertificateRequest'
  | 'podResourcesListActivePods'
  | 'statsFromCri'
  | 'taintTolerationComparisonOperators'
  | 'dra'
>;

/** The feature gates that parts of the agent ask for. */
function gateSettings({ featureGates }: KubeletSettings): GateSettings {
  return {
    envFiles: featureGates.get('EnvFiles'),
    containerStopSignals: featureGates.get('ContainerStopSignals'),
    clusterTrustBundleProjection: featureGates.get('ClusterTrustBundleProjection'),
    resourceHealthStatus: featureGates.get('ResourceHealthStatus'),
    podCertificateRequest: featureGates.get('PodCertificateRequest'),
    podResourcesListActivePods: featureGates.get('KubeletPodResourcesListUseActivePods'),
    statsFromCri: featureGates.get('PodAndContainerStatsFromCRI'),
    taintTolerationComparisonOperators: featureGates.get('TaintTolerationComparisonOperators'),
    dra: {
      extendedResources: featureGates.get('DRAExtendedResource') ?? true,
      health: featureGates.get('ResourceHealthStatus') ?? true,
      healthMessages: featureGates.get('ResourceHealthStatusMessage') ?? true,
    },
  };
}

function topologySettings(config: KubeletSettings['config']): TopologySettings {
  const { topologyManagerPolicy, topologyManagerScope, topologyManagerPolicyOptions: options = {} } = config;
  // Validation rejects other values.
  const policy = TOPOLOGY_POLICIES.find((each) => each === topologyManagerPolicy) ?? 'none';
  return { policy, scope: topologyManagerScope === 'pod' ? 'pod' : 'container', options };
}

/** What these managers have assigned does not change while the pod runs, except with kubelet's gates. */
function staticManagers({ config, featureGates }: KubeletSettings): {
  readonly cpu: boolean;
  readonly memory: boolean;
} {
  return {
    cpu: config.cpuManagerPolicy === 'static' && !featureGates.get('InPlacePodVerticalScalingExclusiveCPUs'),
    memory: config.memoryManagerPolicy === 'Static' && !featureGates.get('InPlacePodVerticalScalingExclusiveMemory'),
  };
}

function cpuManagerSettings({ config, parsed, featureGates }: KubeletSettings): CpuManagerSettings {
  const { cpuManagerPolicyOptions: options = {}, reservedSystemCPUs: reservedSystemCpus = '' } = config;
  const reserved = [parsed.systemReserved, parsed.kubeReserved].map((each) => each.get('cpu')?.milliValue() ?? 0n);
  return {
    policy: config.cpuManagerPolicy === 'static' ? 'static' : 'none', // validation rejects other values
    options,
    gates: {
      alphaOptions: featureGates.get('CPUManagerPolicyAlphaOptions') ?? false,
      betaOptions: featureGates.get('CPUManagerPolicyBetaOptions') ?? false,
    },
    reconcilePeriodMs: Math.max(MIN_RECONCILE_MS, parsed.ms.cpuManagerReconcilePeriod),
    reservedSystemCpus,
    reservedMilliCpus: reserved.reduce((sum, each) => sum + each, 0n),
    topologyManagerPolicy: config.topologyManagerPolicy,
    disablesQuota: featureGates.get('DisableCPUQuotaWithExclusiveCPUs') ?? false,
  };
}

/** Whether pods end by priority before the machine shuts down. */
export function endsPodsAtShutdown(settings: KubeletSettings): boolean {
  const shutdown = shutdownSettings(settings);
  return shutdown !== undefined && shutdownPeriods(shutdown).length > 0;
}

function shutdownSettings({ config, parsed, featureGates }: KubeletSettings): ShutdownSettings | undefined {
  if (!featureGates.get('GracefulNodeShutdown')) return undefined;
  return {
    graceMs: parsed.ms.shutdownGracePeriod,
    criticalMs: parsed.ms.shutdownGracePeriodCriticalPods,
    byPriority: (config.shutdownGracePeriodByPodPriority ?? []).map(({ priority, shutdownGracePeriodSeconds }) => ({
      priority,
      seconds: shutdownGracePeriodSeconds,
    })),
    isPriorityOn: featureGates.get('GracefulNodeShutdownBasedOnPodPriority') ?? false,
  };
}

function memoryQos(settings: KubeletSettings, machine: MachineFacts): MemoryQos {
  const { config } = settings;
  return {
    throttlingFactor: config.memoryThrottlingFactor,
    reservationPolicy: reservationPolicy(config),
    allocatableBytes: unreservedMemory(settings, machine),
  };
}

function qosReserved(settings: KubeletSettings, machine: MachineFacts): QosReserved | undefined {
  const share = settings.config.qosReserved?.['memory'];
  if (share === undefined) return undefined;
  return { memoryPercent: Number.parseInt(share, 10), allocatableBytes: unreservedMemory(settings, machine) };
}

/** As kubelet's own, the allocatable memory does not depend on eviction thresholds. */
function unreservedMemory({ parsed }: KubeletSettings, { memoryBytes }: MachineFacts): number {
  const reserved = [parsed.systemReserved, parsed.kubeReserved].map((each) => each.get('memory')?.value() ?? 0n);
  return Math.max(0, memoryBytes - reserved.reduce((sum, each) => sum + Number(each), 0));
}

/** Validation rejects other values. */
export function reservationPolicy({ memoryReservationPolicy }: KubeletSettings['config']): MemoryReservationPolicy {
  return memoryReservationPolicy === 'TieredReservation' ? 'TieredReservation' : 'None';
}

function imagePullSettings(
  { config, flags, featureGates }: KubeletSettings,
  env: Readonly<Record<string, string | undefined>>,
): ImagePullSettings {
  const { imageCredentialProviderConfig: path = '', imageCredentialProviderBinDir: binDir = '' } = flags;
  return {
    rate: { qps: config.registryPullQPS, burst: config.registryBurst },
    verification: featureGates.get('KubeletEnsureSecretPulledImages') ? verificationPolicy(config) : undefined,
    providers: path === '' && binDir === '' ? undefined : { config: path, binDir },
    providerEnv: env,
    serviceAccountTokens: featureGates.get(TOKENS_GATE),
    workingDir: resolve(),
    homeDir: env['HOME'],
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
      return undefined; // rejected by validation
  }
}

function changeDetection({
  configMapAndSecretChangeDetectionStrategy: strategy,
}: KubeletSettings['config']): ChangeDetection {
  return strategy === 'Cache' || strategy === 'Get' ? strategy : 'Watch'; // validation rejects other values
}

/** In kubelet's configuration a negative number means no limit. */
function asLimit(count: number): number | undefined {
  return count < 0 ? undefined : count;
}

function primaryAddress({ addresses }: MachineFacts): readonly string[] {
  return [addresses[0] ?? '127.0.0.1'];
}
