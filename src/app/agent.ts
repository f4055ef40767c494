import type { RuntimeEvents } from '../cri/runtime-events.ts';
import type { Cri } from '../cri/services.ts';
import type { Host } from '../host/host.ts';
import type { ApiServer } from '../kubelet/cluster/api-server.ts';
import type { Log } from '../kubelet/explain/log.ts';
import type { AgentView } from '../kubelet/server/agent-view.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';

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
  readonly memoryCapacityBytes: number;
}

export interface AgentParts {
  readonly host: Host;
  readonly cri: Cri;
  /** Absent: the runtime tells nothing by itself, and a relist has to find out. */
  readonly runtimeEvents: RuntimeEvents | undefined;
  readonly sources: readonly PodSource[];
  /** Absent: the node stands alone, and statuses and mirror pods are written to nobody. */
  readonly apiServer?: ApiServer;
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
}
