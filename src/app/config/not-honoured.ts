import { isDeepStrictEqual } from 'node:util';
import { unsafeSysctlError } from '../../kubelet/admission/sysctl-handler.ts';
import { type ConfigDiagnostic, errorAt, warningAt } from './config-diagnostic.ts';
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
  'crashLoopBackOff',
  'enableControllerAttachDetach',
  'enableDebuggingHandlers',
  'enableServer',
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
  'kubeReserved',
  'localStorageCapacityIsolation',
  'maxParallelImagePulls',
  'maxPods',
  'memoryReservationPolicy',
  'memorySwap',
  'mergeDefaultEvictionSettings',
  'nodeLeaseDurationSeconds',
  'nodeStatusMaxImages',
  'nodeStatusReportFrequency',
  'nodeStatusUpdateFrequency',
  'podLogsDir',
  'podPidsLimit',
  'podsPerCore',
  'port',
  'preloadedImagesVerificationAllowlist',
  'providerID',
  'registerNode',
  'registerWithTaints',
  'registryBurst',
  'registryPullQPS',
  'reservedSystemCPUs',
  'resolvConf',
  'rotateCertificates',
  'runtimeRequestTimeout',
  'seccompDefault',
  'serializeImagePulls',
  'serverTLSBootstrap',
  'singleProcessOOMKill',
  'staticPodPath',
  'staticPodURL',
  'staticPodURLHeader',
  'syncFrequency',
  'systemReserved',
  'tlsCertFile',
  'tlsCipherSuites',
  'tlsMinVersion',
  'tlsPrivateKeyFile',
  'userNamespaces',
  'volumeStatsAggPeriod',
]);

const NO_EFFECT = 'has no effect in this version of Nodelet';

/** What to say of fields that have an effect in part, or of which more is to be said; nothing: all of it is honoured. */
const IN_PART: Readonly<Record<string, (config: KubeletConfiguration) => string | undefined>> = {
  enforceNodeAllocatable: ({ enforceNodeAllocatable }) => {
    const others = enforceNodeAllocatable.filter((each) => each !== 'pods' && each !== 'none');
    return others.length === 0 ? undefined : `only pods is enforced, ${others.join(' and ')} not yet`;
  },
  kernelMemcgNotification: () => undefined, // the kernel's notifications are always used
  logging: ({ logging: { verbosity: _, ...rest } }) => {
    const { verbosity: __, ...byDefault } = KUBELET_DEFAULTS.logging;
    return isDeepStrictEqual(plain(rest), plain(byDefault)) ? undefined : 'only the verbosity has an effect';
  },
  memoryThrottlingFactor: ({ featureGates = {} }) =>
    isGateOn(featureGates, 'MemoryQoS') ? undefined : 'has no effect while the feature gate MemoryQoS is off',
  readOnlyPort: () => 'nothing is served there yet; what it would show is on the port of `port`',
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
