import type { CgroupDriver } from '../../host/cgroups.ts';
import type { BaseSpec } from './base-spec.ts';

/** Settings of the embedded runtime. src/app and src/cli parse and validate them. */
export interface RuntimeSettings {
  /** Persistent: images, layers, records. */
  readonly rootDir: string;
  /** Cleared by a reboot: bundles, namespaces, sockets. On a filesystem that can hold mounts and sockets. */
  readonly stateDir: string;
  /** By `runtimeHandler`; the empty name is the default. */
  readonly handlers: ReadonlyMap<string, HandlerSettings>;
  readonly network: NetworkSettings;
  readonly nri: NriSettings | undefined;
  /** Directories with CDI specifications; later ones take precedence. */
  readonly cdiSpecDirs: readonly string[];
  /** A static program that only reaps children: `/usr/bin/catatonit`. */
  readonly pauseProgram: string;
  /** Directories with containerd's `<registry>/hosts.toml`: mirrors, CAs, headers. The first match is used. */
  readonly registryConfigDirs: readonly string[];
  /** Images that are reported as pinned, so that garbage collection keeps them. */
  readonly pinnedImages: readonly string[];
  readonly cgroupDriver: CgroupDriver;
  /** systemd's scope for the monitors of all containers; `undefined`: systemd does not run this machine. */
  readonly monitorScope: string | undefined;
  /** Whether oom_score_adj may be lowered (CAP_SYS_RESOURCE); otherwise it is clamped to our own. */
  readonly mayLowerOomScore: boolean;
  /** Streaming sessions without traffic are closed after this time; absent: four hours. */
  readonly streamIdleTimeoutMs?: number | undefined;
}

/** A runtime handler: containerd's `runtimes.NAME`. */
export interface HandlerSettings {
  /** `/usr/bin/crun`; `undefined`: the program of the default handler. */
  readonly program: string | undefined;
  /** `--root` of the program; `undefined`: a directory in the state folder. */
  readonly runtimeRoot: string | undefined;
  /** `undefined`: that of the runtime. */
  readonly cgroupDriver: CgroupDriver | undefined;
  /** Mounts the cgroup file system writable in all containers; needs cgroup v2. */
  readonly cgroupWritable: boolean;
  readonly privilegedDevices: PrivilegedDevices;
  /** Patterns (`path.Match`) of pod annotations that are passed on to the OCI spec of the pod's containers. */
  readonly podAnnotations: readonly string[];
  /** The same for annotations of containers. */
  readonly containerAnnotations: readonly string[];
  /** `undefined`: the default networks. */
  readonly network: HandlerNetwork | undefined;
  /** What its containers start from; pause containers do not, as in containerd. */
  readonly baseSpec: BaseSpec | undefined;
}

/**
 * Devices of privileged containers.
 * - `host`: all devices of the machine, and access to all.
 * - `requested`: as in any other container.
 * - `requestedWithAllAllowed`: the same, but the cgroup allows access to all: the container can create device files.
 */
export type PrivilegedDevices = 'host' | 'requested' | 'requestedWithAllAllowed';

/** Network configurations of one handler. */
export interface HandlerNetwork {
  readonly confDir: string;
  /** `undefined`: that of the default networks. */
  readonly maxConfigs: number | undefined;
}

/** A handler without any setting. */
export const DEFAULT_HANDLER: HandlerSettings = {
  program: undefined,
  runtimeRoot: undefined,
  cgroupDriver: undefined,
  cgroupWritable: false,
  privilegedDevices: 'host',
  podAnnotations: [],
  containerAnnotations: [],
  network: undefined,
  baseSpec: undefined,
};

export interface NetworkSettings {
  readonly confDir: string;
  readonly binDirs: readonly string[];
  /** Number of configurations in `confDir` that are used, ordered by name; 0: all. */
  readonly maxConfigs: number;
  /** Sets up networks one after the other instead of concurrently. */
  readonly setUpSerially: boolean;
  /** Family of a pod's first address; `cni`: the order of the plugin. */
  readonly ipPreference: 'ipv4' | 'ipv6' | 'cni';
  /** Handlers with networks of their own. The empty name never has any, as in containerd. */
  readonly handlers: ReadonlyMap<string, HandlerNetwork>;
}

export interface NriSettings {
  readonly socketPath: string;
  /** Programs here (`NN-name`) are started as plugins, with `<name>.conf` of `pluginConfigDir`. */
  readonly pluginDir: string;
  readonly pluginConfigDir: string;
  readonly registrationTimeoutMs: number;
  readonly requestTimeoutMs: number;
}
