import type { Log } from '../base/log.ts';
import type { RateLimit } from '../base/token-bucket.ts';
import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import type { RuntimeEvents } from '../cri/runtime-events.ts';
import type { Cri } from '../cri/services.ts';
import type { CgroupDriver } from '../host/cgroups.ts';
import type { Host } from '../host/host.ts';
import type { ApiServer } from '../kubelet/api-client/api-server.ts';
import type { CpuUsage } from '../kubelet/cpu-manager/cpu-manager.ts';
import type { CpuManagerSettings } from '../kubelet/cpu-manager/cpu-manager-settings.ts';
import type { AgentView } from '../kubelet/explain/agent-view.ts';
import type { DeadContainerPolicy } from '../kubelet/gc/dead-containers.ts';
import type { ImagePolicy } from '../kubelet/gc/image-policy.ts';
import type { LogRotationPolicy } from '../kubelet/logs/rotation-plan.ts';
import type { MemoryManagerSettings } from '../kubelet/memory-manager/reserved-memory.ts';
import type { PullRecordCounts } from '../kubelet/metrics/pull-record-metrics.ts';
import type { NodeCache } from '../kubelet/node/node-cache.ts';
import type { NodeEvent } from '../kubelet/node/node-event.ts';
import type { NodeSettings } from '../kubelet/node/node-settings.ts';
import type { ChangeDetection } from '../kubelet/objects/fetched-objects.ts';
import type { ObservedPod } from '../kubelet/pod/observed-pod.ts';
import type { MemoryQos } from '../kubelet/resources/memory-qos.ts';
import type { QosReserved } from '../kubelet/resources/qos-reserved.ts';
import type { ShutdownSettings } from '../kubelet/shutdown/shutdown-groups.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import type { NodeStatistics } from '../kubelet/stats/stats-source.ts';
import type { TopologySettings } from '../kubelet/topology/topology-options.ts';
import type { VolumeCounts } from '../kubelet/volumes/volume-counts.ts';
import type { CsiDrivers } from '../plugins/csi/csi-drivers.ts';
import type { DevicePluginReceiver } from '../plugins/device/device-plugin.ts';
import type { ServeRegistration } from '../plugins/device/serve-registration.ts';
import type { DraDrivers } from '../plugins/dra/dra-drivers.ts';
import type { PodResourcesService } from '../plugins/pod-resources/pod-resources-service.ts';
import type { ImagePullSettings } from './build-image-pulls.ts';

export interface DraGates {
  /** DRAExtendedResource. */
  readonly extendedResources: boolean;
  /** ResourceHealthStatus. */
  readonly health: boolean;
  /** ResourceHealthStatusMessage. */
  readonly healthMessages: boolean;
}

/** The slice of kubelet's configuration that the agent works with, parsed into milliseconds and bytes. */
export interface AgentSettings {
  readonly nodeName: string;
  /** The addresses of the node, primary first; pods on the host network have them too. */
  readonly hostIPs: readonly string[];
  /** kubelet's `--root-dir`, the parent of `pods/<uid>/…`. */
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** The folder of the volumes of claims in manifests; absent: pods of manifests have no claims. */
  readonly claimVolumesDir?: string;
  /** The folder of links to container logs for log collectors; absent: no links. */
  readonly containerLogsDir?: string;
  /** The parent cgroup of `kubepods`: `/` for kubelet's own layout. */
  readonly cgroupRoot: string;
  /** Absent: cgroupfs. */
  readonly cgroupDriver?: CgroupDriver | undefined;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly maxPods: number;
  readonly podPidsLimit: number;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly seccompDefault: boolean;
  readonly maxContainerRestartPeriodMs: number;
  /** The period of syncs without an event. */
  readonly syncFrequencyMs: number;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number | undefined;
  readonly imagePulls: ImagePullSettings;
  readonly memoryCapacityBytes: number;
  readonly containerLogs: LogRotationPolicy;
  /** Absent: NoSwap. */
  readonly swapBehavior?: 'NoSwap' | 'LimitedSwap' | undefined;
  /** Cgroup v2 only; absent: the OOM killer kills all processes of a container. */
  readonly singleProcessOOMKill?: boolean | undefined;
  /** Absent: the feature gate MemoryQoS is off. */
  readonly memoryQos?: MemoryQos | undefined;
  /** Absent: QoS classes have no memory limits of their own. */
  readonly qosReserved?: QosReserved | undefined;
  /** The number of IDs in the user namespace of a pod; absent: 65536. */
  readonly userNamespaceIdsPerPod?: number | undefined;
  /** Unsafe sysctls that pods may set: names, or prefixes with a `*`; absent: none. */
  readonly allowedUnsafeSysctls?: readonly string[] | undefined;
  /** Absent: the policy none. */
  readonly topologyManager?: TopologySettings | undefined;
  /** Absent: the policy None, without its checkpoint file. */
  readonly memoryManager?: MemoryManagerSettings | undefined;
  /** The feature gate EnvFiles; absent: on. */
  readonly envFiles?: boolean | undefined;
  /** The feature gate ContainerStopSignals; absent: off. */
  readonly containerStopSignals?: boolean | undefined;
  /** The feature gate ClusterTrustBundleProjection; absent: off. */
  readonly clusterTrustBundleProjection?: boolean | undefined;
  /** The feature gate ResourceHealthStatus; absent: on. */
  readonly resourceHealthStatus?: boolean | undefined;
  /** The feature gate PodCertificateRequest; absent: off. */
  readonly podCertificateRequest?: boolean | undefined;
  /** Absent: there is no CPU manager, and no file of it. */
  readonly cpuManager?: CpuManagerSettings | undefined;
  /** The feature gate KubeletPodResourcesListUseActivePods; absent: on. */
  readonly podResourcesListActivePods?: boolean | undefined;
  /** kubelet's `volumeStatsAggPeriod`: volumes are not measured if it is not positive. Absent: a minute. */
  readonly volumeStatsPeriodMs?: number | undefined;
  /** kubelet's `systemCgroups`, whose usage is shown as `misc`; absent: none. */
  readonly systemCgroup?: string | undefined;
  /** The feature gate PodAndContainerStatsFromCRI; absent: off. */
  readonly statsFromCri?: boolean | undefined;
  /** kubelet's `kubeletCgroups`, in which the agent runs; absent: the cgroup in which it was started. */
  readonly kubeletCgroup?: string | undefined;
  /** The managers that assign resources exclusively; absent: none. */
  readonly staticManagers?: { readonly cpu: boolean; readonly memory: boolean } | undefined;
  /** How pods end before the machine shuts down; absent: shutdowns are not delayed. */
  readonly shutdown?: ShutdownSettings | undefined;
  /** The feature gate TaintTolerationComparisonOperators; absent: off. */
  readonly taintTolerationComparisonOperators?: boolean | undefined;
  /** The feature gate LocalStorageCapacityIsolationFSQuotaMonitoring; absent: off. */
  readonly countsByQuotas?: boolean | undefined;
  /** Feature gates of dynamic resource allocation; absent: on, as in v1.36. */
  readonly dra?: DraGates | undefined;
  readonly unusedImages: ImagePolicy;
  readonly deadContainers: DeadContainerPolicy;
  /** How changes of ConfigMaps and Secrets are detected; absent: by watches. */
  readonly changeDetection?: ChangeDetection;
  /** The rate limit of events to the API server; absent: 50 per second, burst 100. */
  readonly eventRate?: RateLimit;
  /** Names of images that garbage collection keeps. */
  readonly keptImages?: readonly string[];
}

/** What an agent is built from. */
export interface AgentParts {
  readonly host: Host;
  readonly cri: Cri;
  /** `undefined`: the runtime has no events, and PLEG relists every second. */
  readonly runtimeEvents: RuntimeEvents | undefined;
  readonly sources: readonly PodSource[];
  /** Absent: the agent is standalone and writes no statuses or mirror pods. */
  readonly apiServer?: ApiServer;
  /** The same server with its own rate limit for events; absent: they share the limit of other requests. */
  readonly eventApiServer?: ApiServer;
  /** The same server with its own rate limit for node status and lease; absent: they share the common limit. */
  readonly nodeApiServer?: ApiServer;
  /** The node object to maintain; absent: none is written, and nothing is reserved from pods. */
  readonly node?: NodeSettings;
  /** Events of the node from before the agent ran; absent: none. */
  readonly startEvents?: readonly NodeEvent[] | undefined;
  /** Receives the node object of the API server, for other components to read; absent: none read it. */
  readonly ownNode?: NodeCache | undefined;
  /**
   * Subscribes to changes of pod networks and returns the function that unsubscribes; absent: the runtime is polled,
   * since CRI has no such event.
   */
  readonly onNetworkChange?: ((listener: () => void) => () => void) | undefined;
  /** Absent: the CSI drivers that register in the folder `plugins_registry` of the root directory. */
  readonly csiDrivers?: CsiDrivers | undefined;
  /** Connects device plugins of this process; absent: only those that register themselves. */
  readonly connectDevicePlugins?: ((receiver: DevicePluginReceiver) => void) | undefined;
  /** Serves `device-plugins/kubelet.sock`; absent: device plugins register only in `plugins_registry`. */
  readonly serveDeviceRegistration?: ServeRegistration | undefined;
  /** Serves the pod resources API on the socket in this folder until the signal aborts; absent: it is not served. */
  readonly servePodResources?:
    | ((folder: string, service: PodResourcesService, signal: AbortSignal) => Promise<void>)
    | undefined;
  /** The same for DRA drivers. */
  readonly draDrivers?: DraDrivers | undefined;
  readonly settings: AgentSettings;
  readonly log: Log;
  /** Receives the unhandled errors of the agent's parts. Absent: the agent has its own. */
  readonly unhandled?: UnhandledErrors | undefined;
}

/** A node agent. */
/** State of the agent that only its metrics show. */
export interface AgentReadings {
  /** The pod as PLEG observed it last. */
  observed(uid: string): ObservedPod | undefined;
  /** The number of mirror pods at the API server. */
  mirrorPods(): number;
  /** `undefined` without the static policy of the CPU manager. */
  cpuUsage(): CpuUsage | undefined;
  /** The number of records of image pulls on disk. */
  pullRecords(): Promise<PullRecordCounts | undefined>;
  /** The drivers of each claim that pods on this node use; `undefined` without an API server. */
  claimDrivers(): readonly (readonly string[])[] | undefined;
  /** The number of volumes, by plugin. */
  volumes(): VolumeCounts;
}

export interface Agent extends AgentView {
  readonly readings: AgentReadings;
  /**
   * Runs until the signal aborts, then stops and leaves the containers running. A part that fails is restarted; rejects only
   * with a broken invariant.
   */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Removes every pod from the desired pods and resolves when no trace of them is left. Requires `run` to be running.
   * The sources are ignored from then on.
   */
  drain(): Promise<void>;
  /** Statistics of the node and its pods. */
  readonly stats: NodeStatistics;
  /**
   * Ends the pods by priority, as before a shutdown of the machine, and rejects new ones. Resolves when the API server has their
   * statuses, or after some seconds. Requires `run` to be running, and `settings.shutdown`.
   */
  shutDown(): Promise<void>;
  /** Why the sync loop is unhealthy, in kubelet's words; `undefined` while it is healthy. */
  syncLoopUnhealthyReason(): string | undefined;
  /** Why device plugins cannot register, in kubelet's words; `undefined` while they can. */
  devicePluginUnhealthyReason(): string | undefined;
}
