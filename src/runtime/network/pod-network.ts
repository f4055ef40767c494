import type { PortMapping } from '../../cri/generated/runtime-v1.ts';

/** The networks of pods, through CNI. Host-network pods never come here. */
export interface PodNetwork {
  /** As of the configurations that lie there now: what `Status` tells as `NetworkReady`. */
  status(): NetworkStatus;
  /**
   * ADD on every network. The caller has stored the sandbox before, and calls `tearDown` when this rejects: a chain that
   * failed half-way needs DEL too. Rejects with an `Error` that names network and plugin.
   */
  setUp(pod: NetworkedPod, signal: AbortSignal): Promise<PodAddresses>;
  /**
   * DEL on every network of which a result is kept, with the configuration of its ADD. Safe to repeat, and when `setUp`
   * never ran, and when the namespace is gone. What is kept goes only when DEL has succeeded.
   */
  tearDown(pod: NetworkedPod, signal: AbortSignal): Promise<void>;
  /**
   * DEL for what is kept of sandboxes that are none of these, then CNI's GC where the configuration is 1.1. What was set
   * up in this life is left alone until it is torn down. Rejects with all that failed; the rest is done.
   */
  collect(liveSandboxIds: ReadonlySet<string>, signal: AbortSignal): Promise<void>;
  /** `UpdateRuntimeConfig`: the pods' range, for configurations with the capability `ipRanges`. */
  setPodCidr(podCidr: string): void;
  /** Reads the configurations now; `status` tells of them when it resolves. `setUp` waits for a first time by itself. */
  refresh(): Promise<void>;
  /** Follows changes of the configurations until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export type NetworkStatus =
  | { readonly ready: true; readonly networks: readonly string[] }
  /** `NetworkPluginNotReady`, and why. */
  | { readonly ready: false; readonly reason: string; readonly message: string };

/** All that plugins are told of a pod. */
export interface NetworkedPod {
  readonly sandboxId: string;
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
  /** In the order of preference: the first is `status.podIP`. Of `eth0` alone. */
  readonly ips: readonly [string, ...string[]];
  /** The results as plugins told them, by network and interface; for verbose status. */
  readonly results: Readonly<Record<string, unknown>>;
}
