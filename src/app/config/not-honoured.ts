import { isDeepStrictEqual } from 'node:util';
import { unsafeSysctlError } from '../../kubelet/admission/sysctl-handler.ts';
import { type ConfigDiagnostic, errorAt, warningAt } from './config-diagnostic.ts';
import { EMBEDDED } from './embedded-endpoint.ts';
import { isGateOn } from './feature-gates.ts';
import { KUBELET_DEFAULTS } from './generated/defaults.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { gatesNotHonoured } from './honoured-gates.ts';

/** The fields that have an effect. Supporting another one means adding it here. */
export const HONOURED: ReadonlySet<string> = new Set([
  'apiVersion',
  'kind',
  'address',
  'allowedUnsafeSysctls',
  'authentication',
  'authorization',
  'cgroupDriver',
  'cgroupRoot',
  'cgroupsPerQOS',
  'clusterDNS',
  'clusterDomain',
  'configMapAndSecretChangeDetectionStrategy',
  'containerLogMaxFiles',
  'containerLogMaxSize',
  'containerLogMaxWorkers',
  'containerLogMonitorInterval',
  'containerRuntimeEndpoint',
  'cpuCFSQuota',
  'cpuCFSQuotaPeriod',
  'cpuManagerPolicy',
  'cpuManagerPolicyOptions',
  'cpuManagerReconcilePeriod',
  'crashLoopBackOff',
  'enableControllerAttachDetach',
  'enableDebugFlagsHandler',
  'enableDebuggingHandlers',
  'enableProfilingHandler',
  'enableServer',
  'enableSystemLogHandler',
  'enableSystemLogQuery',
  'enforceNodeAllocatable',
  'eventBurst',
  'eventRecordQPS',
  'evictionHard',
  'evictionMaxPodGracePeriod',
  'evictionMinimumReclaim',
  'evictionPressureTransitionPeriod',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'failCgroupV1',
  'failSwapOn',
  'featureGates',
  'fileCheckFrequency',
  'healthzBindAddress',
  'healthzPort',
  'httpCheckFrequency',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'imageMaximumGCAge',
  'imageMinimumGCAge',
  'imagePullCredentialsVerificationPolicy',
  'kubeAPIBurst',
  'kubeAPIQPS',
  'kubeletCgroups',
  'kubeReserved',
  'kubeReservedCgroup',
  'localStorageCapacityIsolation',
  'logging',
  'makeIPTablesUtilChains',
  'maxParallelImagePulls',
  'maxPods',
  'memoryManagerPolicy',
  'memoryReservationPolicy',
  'memorySwap',
  'mergeDefaultEvictionSettings',
  'nodeLeaseDurationSeconds',
  'nodeStatusMaxImages',
  'nodeStatusReportFrequency',
  'nodeStatusUpdateFrequency',
  'oomScoreAdj',
  'podCIDR',
  'podLogsDir',
  'podPidsLimit',
  'podsPerCore',
  'port',
  'preloadedImagesVerificationAllowlist',
  'protectKernelDefaults',
  'providerID',
  'readOnlyPort',
  'registerNode',
  'registerWithTaints',
  'registryBurst',
  'registryPullQPS',
  'reservedMemory',
  'reservedSystemCPUs',
  'resolvConf',
  'rotateCertificates',
  'runtimeRequestTimeout',
  'seccompDefault',
  'serializeImagePulls',
  'serverTLSBootstrap',
  'showHiddenMetricsForVersion',
  'shutdownGracePeriod',
  'shutdownGracePeriodByPodPriority',
  'shutdownGracePeriodCriticalPods',
  'singleProcessOOMKill',
  'staticPodPath',
  'staticPodURL',
  'staticPodURLHeader',
  'syncFrequency',
  'systemCgroups',
  'systemReserved',
  'systemReservedCgroup',
  'tlsCertFile',
  'tlsCipherSuites',
  'tlsCurvePreferences',
  'tlsMinVersion',
  'tlsPrivateKeyFile',
  'topologyManagerPolicy',
  'topologyManagerPolicyOptions',
  'topologyManagerScope',
  'tracing',
  'userNamespaces',
  'volumeStatsAggPeriod',
]);

/** Fields that kubelet v1.36 reads and does nothing with. */
const NO_EFFECT_IN_KUBELET = ['hairpinMode', 'iptablesDropBit', 'iptablesMasqueradeBit'] as const;

const NO_EFFECT = 'has no effect in this version of Nodelet';

/** What to say of fields that have an effect in part, or of which more is to be said; nothing: all of it is honoured. */
export const IN_PART: Readonly<Record<string, (config: KubeletConfiguration) => string | undefined>> = {
  ...Object.fromEntries(NO_EFFECT_IN_KUBELET.map((field) => [field, () => 'has no effect, as in kubelet v1.36'])),
  contentType: ({ contentType }) =>
    contentType === 'application/json' ? undefined : 'has no effect: requests to the API server are JSON',
  imageServiceEndpoint: ({ containerRuntimeEndpoint }) =>
    containerRuntimeEndpoint === EMBEDDED
      ? 'has no effect with the embedded runtime, which has its own images'
      : undefined,
  kernelMemcgNotification: () => undefined, // the kernel's notifications are always used
  maxOpenFiles: ({ containerRuntimeEndpoint }) =>
    containerRuntimeEndpoint === EMBEDDED
      ? 'has no effect with the embedded runtime, whose containers have the limit of its process: set LimitNOFILE= of the service'
      : undefined,
  memoryThrottlingFactor: ({ featureGates = {} }) =>
    isGateOn(featureGates, 'MemoryQoS') ? undefined : 'has no effect while the feature gate MemoryQoS is off',
  streamingConnectionIdleTimeout: ({ containerRuntimeEndpoint }) =>
    containerRuntimeEndpoint === EMBEDDED
      ? undefined
      : 'has no effect, as in kubelet v1.36: it is a setting of the container runtime',
  volumePluginDir: () => 'has no effect: it holds drivers of flexVolume, which is not supported',
  enableContentionProfiling: () => 'has no effect: the agent is one thread, and waits for no locks',
  qosReserved: ({ featureGates = {} }) =>
    isGateOn(featureGates, 'QOSReserved') ? undefined : 'has no effect while the feature gate QOSReserved is off',
};

/** Warns about every configured field that has no effect; an error where ignoring it would be unsafe. */
export function notHonoured(config: KubeletConfiguration): readonly ConfigDiagnostic[] {
  const asked = Object.entries(config).filter(([field, value]) => {
    const byDefault = Object.entries(KUBELET_DEFAULTS).find(([name]) => name === field)?.[1];
    return !HONOURED.has(field) && !isDeepStrictEqual(plain(value), plain(byDefault)) && !isEmpty(value);
  });
  return [
    ...impossible(config),
    ...asked.flatMap(([field]) => {
      const partialEffect = IN_PART[field];
      const words = partialEffect ? partialEffect(config) : NO_EFFECT;
      return words === undefined ? [] : [warningAt(field, words)];
    }),
    ...gatesNotHonoured(config.featureGates ?? {}),
  ];
}

/** Containers would end up in other control groups than the runtime puts them into, or without any limits. */
function impossible({
  cgroupDriver,
  cgroupsPerQOS,
  allowedUnsafeSysctls = [],
}: KubeletConfiguration): ConfigDiagnostic[] {
  const sysctlErrors = allowedUnsafeSysctls.flatMap((pattern) => unsafeSysctlError(pattern) ?? []);
  return [
    ...sysctlErrors.map((message) => errorAt('allowedUnsafeSysctls', message)),
    ...(['cgroupfs', 'systemd'].includes(cgroupDriver)
      ? []
      : [errorAt('cgroupDriver', `${cgroupDriver} is unknown: it is cgroupfs or systemd`)]),
    ...(cgroupsPerQOS ? [] : [errorAt('cgroupsPerQOS', 'false is not supported yet')]),
  ];
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
