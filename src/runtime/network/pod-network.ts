import type { PortMapping } from '../../cri/generated/runtime-v1.ts';

/** The pod networks, through CNI. Not used for host-network pods. */
export interface PodNetwork {
  /** The status of the default configurations, which `Status` returns as `NetworkReady`. */
  status(): NetworkStatus;
  /** The status of the configurations of each handler that has its own. */
  handlerStatuses(): ReadonlyMap<string, NetworkStatus>;
  /**
   * Runs ADD on every network of the pod's runtime handler. The caller has stored the sandbox before, and calls `tearDown` if this rejects: a chain
   * that failed half-way needs DEL too. Rejects with an `Error` that names the network and plugin.
   */
  setUp(pod: NetworkedPod, signal: AbortSignal): Promise<PodAddresses>;
  /**
   * Runs DEL on every cached network, with the configuration of its ADD. Idempotent; also works if `setUp` never ran or
   * the namespace is gone. The cache entry is removed only after DEL succeeded.
   */
  tearDown(pod: NetworkedPod, signal: AbortSignal): Promise<void>;
  /**
   * Runs DEL for cached sandboxes that are not live, then CNI's GC for configurations of version 1.1. Sandboxes set up
   * by this process are skipped until they are torn down. Rejects with all errors after everything was attempted.
   */
  collectGarbage(liveSandboxIds: ReadonlySet<string>, signal: AbortSignal): Promise<void>;
  /** `UpdateRuntimeConfig`: the pod range, for configurations with the capability `ipRanges`. */
  setPodCidr(podCidr: string): void;
  /**
   * Reads the configurations now; `status` reflects them when it resolves. `setUp` waits for the first read by itself.
   */
  refresh(): Promise<void>;
  /** Watches the configurations until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export type NetworkStatus =
  | { readonly ready: true; readonly networks: readonly string[] }
  /** `NetworkPluginNotReady` with its message. */
  | { readonly ready: false; readonly reason: string; readonly message: string };

/** The data of a pod that plugins receive. */
export interface NetworkedPod {
  readonly sandboxId: string;
  /** Selects the network configurations. */
  readonly runtimeHandler: string;
  readonly namespacePath: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly portMappings: readonly PortMapping[];
  readonly cgroupParent: string;
  readonly dns: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
}

export interface PodAddresses {
  /** In order of preference: the first is `status.podIP`. Only those of `eth0`. */
  readonly ips: readonly [string, ...string[]];
  /** The plugins' results by network and interface; for verbose status. */
  readonly results: Readonly<Record<string, unknown>>;
}
