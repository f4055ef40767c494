// Generated from compat/ by tools/generate-config.ts; change those and run 'make generate'.

/** A Go duration: `1m0s`. */
export type DurationText = string;

/** A Kubernetes quantity: `100Mi`. */
export type QuantityText = string;

/**
 * kubelet.config.k8s.io/v1beta1 as in files. Fields with a default are always present after defaulting;
 * of the rest, absence is Go's zero.
 */
export interface KubeletConfiguration {
  readonly enableServer: boolean;
  readonly staticPodPath?: string;
  readonly podLogsDir: string;
  readonly syncFrequency: DurationText;
  readonly fileCheckFrequency: DurationText;
  readonly httpCheckFrequency: DurationText;
  readonly staticPodURL?: string;
  readonly staticPodURLHeader?: Readonly<Record<string, readonly string[]>>;
  readonly address: string;
  readonly port: number;
  readonly readOnlyPort?: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsCipherSuites?: readonly string[];
  readonly tlsCurvePreferences?: readonly number[];
  readonly tlsMinVersion?: string;
  readonly rotateCertificates?: boolean;
  readonly serverTLSBootstrap?: boolean;
  readonly authentication: KubeletAuthentication;
  readonly authorization: KubeletAuthorization;
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly imagePullCredentialsVerificationPolicy?: string;
  readonly preloadedImagesVerificationAllowlist?: readonly string[];
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly enableDebuggingHandlers: boolean;
  readonly enableContentionProfiling?: boolean;
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  readonly oomScoreAdj: number;
  readonly clusterDomain?: string;
  readonly clusterDNS?: readonly string[];
  readonly streamingConnectionIdleTimeout: DurationText;
  readonly nodeStatusUpdateFrequency: DurationText;
  readonly nodeStatusReportFrequency: DurationText;
  readonly nodeLeaseDurationSeconds: number;
  readonly imageMinimumGCAge: DurationText;
  readonly imageMaximumGCAge: DurationText;
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  readonly volumeStatsAggPeriod: DurationText;
  readonly kubeletCgroups?: string;
  readonly systemCgroups?: string;
  readonly cgroupRoot?: string;
  readonly cgroupsPerQOS: boolean;
  readonly cgroupDriver: string;
  readonly cpuManagerPolicy: string;
  readonly singleProcessOOMKill?: boolean;
  readonly cpuManagerPolicyOptions?: Readonly<Record<string, string>>;
  readonly cpuManagerReconcilePeriod: DurationText;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerScope: string;
  readonly topologyManagerPolicyOptions?: Readonly<Record<string, string>>;
  readonly qosReserved?: Readonly<Record<string, string>>;
  readonly runtimeRequestTimeout: DurationText;
  readonly hairpinMode: string;
  readonly maxPods: number;
  readonly podCIDR?: string;
  readonly podPidsLimit: number;
  readonly resolvConf: string;
  readonly runOnce?: boolean;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriod: DurationText;
  readonly nodeStatusMaxImages: number;
  readonly maxOpenFiles: number;
  readonly contentType: string;
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls?: number;
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft?: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  readonly evictionPressureTransitionPeriod: DurationText;
  readonly evictionMaxPodGracePeriod?: number;
  readonly evictionMinimumReclaim?: Readonly<Record<string, string>>;
  readonly mergeDefaultEvictionSettings: boolean;
  readonly podsPerCore?: number;
  readonly enableControllerAttachDetach: boolean;
  readonly protectKernelDefaults?: boolean;
  readonly makeIPTablesUtilChains: boolean;
  readonly iptablesMasqueradeBit: number;
  readonly iptablesDropBit: number;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly failSwapOn: boolean;
  readonly memorySwap: MemorySwapConfiguration;
  readonly containerLogMaxSize: string;
  readonly containerLogMaxFiles: number;
  readonly containerLogMaxWorkers: number;
  readonly containerLogMonitorInterval: DurationText;
  readonly configMapAndSecretChangeDetectionStrategy: string;
  readonly systemReserved?: Readonly<Record<string, string>>;
  readonly kubeReserved?: Readonly<Record<string, string>>;
  readonly reservedSystemCPUs?: string;
  readonly showHiddenMetricsForVersion?: string;
  readonly systemReservedCgroup?: string;
  readonly kubeReservedCgroup?: string;
  readonly enforceNodeAllocatable: readonly string[];
  readonly allowedUnsafeSysctls?: readonly string[];
  readonly volumePluginDir: string;
  readonly providerID?: string;
  readonly kernelMemcgNotification?: boolean;
  readonly logging: LoggingConfiguration;
  readonly enableSystemLogHandler: boolean;
  readonly enableSystemLogQuery: boolean;
  readonly shutdownGracePeriod: DurationText;
  readonly shutdownGracePeriodCriticalPods: DurationText;
  readonly shutdownGracePeriodByPodPriority?: readonly ShutdownGracePeriodByPodPriority[];
  readonly crashLoopBackOff: CrashLoopBackOffConfig;
  readonly reservedMemory?: readonly MemoryReservation[];
  readonly enableProfilingHandler: boolean;
  readonly enableDebugFlagsHandler: boolean;
  readonly seccompDefault: boolean;
  readonly memoryThrottlingFactor: number;
  readonly memoryReservationPolicy: string;
  readonly registerWithTaints?: readonly Taint[];
  readonly registerNode: boolean;
  readonly tracing?: TracingConfiguration;
  readonly localStorageCapacityIsolation: boolean;
  readonly containerRuntimeEndpoint: string;
  readonly imageServiceEndpoint?: string;
  readonly failCgroupV1: boolean;
  readonly userNamespaces?: UserNamespaces;
}

export interface KubeletAuthentication {
  readonly x509: KubeletX509Authentication;
  readonly webhook: KubeletWebhookAuthentication;
  readonly anonymous: KubeletAnonymousAuthentication;
}

export interface KubeletX509Authentication {
  readonly clientCAFile?: string;
}

export interface KubeletWebhookAuthentication {
  readonly enabled: boolean;
  readonly cacheTTL: DurationText;
}

export interface KubeletAnonymousAuthentication {
  readonly enabled: boolean;
}

export interface KubeletAuthorization {
  readonly mode: string;
  readonly webhook: KubeletWebhookAuthorization;
}

export interface KubeletWebhookAuthorization {
  readonly cacheAuthorizedTTL: DurationText;
  readonly cacheUnauthorizedTTL: DurationText;
}

export interface MemorySwapConfiguration {
  readonly swapBehavior?: string;
}

export interface LoggingConfiguration {
  readonly format: string;
  readonly flushFrequency: DurationText;
  readonly verbosity: number;
  readonly vmodule?: readonly VModuleItem[];
  readonly options: FormatOptions;
}

export interface VModuleItem {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface FormatOptions {
  readonly text: OutputRoutingOptions;
  readonly json: OutputRoutingOptions;
}

export interface OutputRoutingOptions {
  readonly splitStream?: boolean;
  readonly infoBufferSize: QuantityText;
}

export interface ShutdownGracePeriodByPodPriority {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

export interface CrashLoopBackOffConfig {
  readonly maxContainerRestartPeriod?: DurationText;
}

export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, QuantityText>>;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface TracingConfiguration {
  readonly endpoint?: string;
  readonly samplingRatePerMillion?: number;
}

export interface UserNamespaces {
  readonly idsPerPod?: number;
}
