import type { Log } from '../base/log.ts';
import type { RuntimeEvents } from '../cri/runtime-events.ts';
import type { Cri } from '../cri/services.ts';
import type { Host } from '../host/host.ts';
import type { ApiServer } from '../kubelet/api-client/api-server.ts';
import type { RequestRateLimit } from '../kubelet/api-client/request-rate.ts';
import type { AgentView } from '../kubelet/explain/agent-view.ts';
import type { DeadContainerPolicy } from '../kubelet/gc/dead-containers.ts';
import type { ImagePolicy } from '../kubelet/gc/image-policy.ts';
import type { LogRotationPolicy } from '../kubelet/logs/rotation-plan.ts';
import type { NodeSettings } from '../kubelet/node/node-settings.ts';
import type { OwnNode } from '../kubelet/node/node-cache.ts';
import type { ChangeDetection } from '../kubelet/objects/fetched-objects.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import type { ImagePullSettings } from './build-image-pulls.ts';

/** The slice of the configuration that the agent itself works with. Milliseconds and bytes, already parsed. */
export interface AgentSettings {
  readonly nodeName: string;
  /** Addresses of this machine that pods on the host network show; primary first. */
  readonly hostIPs: readonly string[];
  /** kubelet's `--root-dir`: `pods/<uid>/…` live below it. */
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** Where links to the logs of containers are made for log collectors; absent: nowhere. */
  readonly containerLogsDir?: string;
  /** Below which `kubepods` is made: `/` for kubelet's own layout. */
  readonly cgroupRoot: string;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly maxPods: number;
  readonly podPidsLimit: number;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly seccompDefault: boolean;
  readonly maxContainerRestartPeriodMs: number;
  /** How often a pod is looked at when nothing happens. */
  readonly syncFrequencyMs: number;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number | undefined;
  readonly imagePulls: ImagePullSettings;
  readonly memoryCapacityBytes: number;
  readonly containerLogs: LogRotationPolicy;
  /** What containers may swap out; absent: nothing. */
  readonly swapBehavior?: 'NoSwap' | 'LimitedSwap' | undefined;
  /** Cgroup v2 only; absent: out of memory, a container dies as a whole. */
  readonly singleProcessOOMKill?: boolean | undefined;
  /** Ids in the user namespace of a pod; absent: 65536. */
  readonly userNamespaceIdsPerPod?: number | undefined;
  /** Sysctls that pods may set though others feel it: names, or beginnings with a `*`; absent: none. */
  readonly allowedUnsafeSysctls?: readonly string[] | undefined;
  /** The feature gate EnvFiles; absent: on. */
  readonly envFiles?: boolean | undefined;
  /** The feature gate ContainerStopSignals; absent: off. */
  readonly containerStopSignals?: boolean | undefined;
  readonly unusedImages: ImagePolicy;
  readonly deadContainers: DeadContainerPolicy;
  /** How changes of ConfigMaps and Secrets are found out; absent: by watching. */
  readonly changeDetection?: ChangeDetection;
  /** How fast events are written to the API server; absent: 50 a second, 100 at once. */
  readonly eventRate?: RequestRateLimit;
  /** Names of images that are never removed. */
  readonly keptImages?: readonly string[];
}

export interface AgentParts {
  readonly host: Host;
  readonly cri: Cri;
  /** Absent: the runtime tells nothing by itself, and a relist has to find out. */
  readonly runtimeEvents: RuntimeEvents | undefined;
  readonly sources: readonly PodSource[];
  /** Absent: the node stands alone, and statuses and mirror pods are written to nobody. */
  readonly apiServer?: ApiServer;
  /** The same server, where events do not use up what other requests are allowed; absent: they do. */
  readonly eventApiServer?: ApiServer;
  /** The same server, where the node's own status and lease wait for no other requests; absent: they do. */
  readonly nodeApiServer?: ApiServer;
  /** As what this machine is a node; absent: it keeps nothing back from pods, and a cluster has it from somebody else. */
  readonly node?: NodeSettings;
  /** Shows to others what the API server has of that node; absent: nobody looks. */
  readonly ownNode?: OwnNode | undefined;
  /**
   * Calls back when networks of pods may have come or gone, and returns the function that ends it; absent: the runtime
   * has to be asked, since CRI has no event for that.
   */
  readonly onNetworkChange?: ((listener: () => void) => () => void) | undefined;
  readonly settings: AgentSettings;
  readonly log: Log;
}

/** A whole node agent. */
export interface Agent extends AgentView {
  /** Works until the signal aborts, then lets go of everything and leaves the containers running. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Takes every pod out of the desired set and resolves when nothing of them is left; `run` must be going on. From
   * then on the sources are not listened to any more.
   */
  drain(): Promise<void>;
  /** What is wrong with the work on pods as a whole, in kubelet's words; nothing while it goes on. */
  syncLoopUnhealthyReason(): string | undefined;
}
