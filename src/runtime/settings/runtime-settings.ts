import type { CgroupDriver } from '../../host/cgroups.ts';

/** Settings of the embedded runtime. src/app and src/cli parse and validate them. */
export interface RuntimeSettings {
  /** Persistent: images, layers, records. */
  readonly rootDir: string;
  /** Cleared by a reboot: bundles, namespaces, sockets. On a filesystem that can hold mounts and sockets. */
  readonly stateDir: string;
  /** Programs (`/usr/bin/crun`) by `runtimeHandler`; the empty name is the default. */
  readonly handlers: ReadonlyMap<string, string>;
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
}

export interface NetworkSettings {
  readonly confDir: string;
  readonly binDirs: readonly string[];
  /** Number of configurations in `confDir` that are used, ordered by name; 0: all. */
  readonly maxConfigs: number;
  /** Sets up networks one after the other instead of concurrently. */
  readonly setUpSerially: boolean;
  /** Family of a pod's first address; `cni`: the order of the plugin. */
  readonly ipPreference: 'ipv4' | 'ipv6' | 'cni';
}

export interface NriSettings {
  readonly socketPath: string;
  /** Programs here (`NN-name`) are started as plugins, with `<name>.conf` of `pluginConfigDir`. */
  readonly pluginDir: string;
  readonly pluginConfigDir: string;
  readonly registrationTimeoutMs: number;
  readonly requestTimeoutMs: number;
}
