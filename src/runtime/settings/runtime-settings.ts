/** All that somebody chooses about the embedded runtime. Parsed and checked by whoever starts it (src/app, src/cli). */
export interface RuntimeSettings {
  /** What a reboot leaves: images, layers, records. */
  readonly rootDir: string;
  /** What a reboot clears: bundles, namespaces, sockets. On a file system that can hold mounts and sockets. */
  readonly stateDir: string;
  /** By the name in `runtimeHandler`; the empty name is the default. Values are programs: `/usr/bin/crun`. */
  readonly handlers: ReadonlyMap<string, string>;
  readonly network: NetworkSettings;
  readonly nri: NriSettings | undefined;
  /** Folders with CDI specifications, later ones win. */
  readonly cdiSpecDirs: readonly string[];
  /** The seccomp profile of `RuntimeDefault`, in the format of containers/common. */
  readonly seccompProfilePath: string;
  /** A static program that does nothing but reap: `/usr/bin/catatonit`. */
  readonly pauseProgram: string;
  /** Folders with `<registry>/hosts.toml`, as containerd reads them: mirrors, authorities, headers. The first that has one counts. */
  readonly registryConfigDirs: readonly string[];
  /** What `ContainerStatus` and image garbage collection must never lose; told to the agent as pinned. */
  readonly pinnedImages: readonly string[];
  /** Whether oom_score_adj may be lowered here (CAP_SYS_RESOURCE); else it is clamped to our own. */
  readonly mayLowerOomScore: boolean;
}

export interface NetworkSettings {
  readonly confDir: string;
  readonly binDirs: readonly string[];
  /** How many of the configurations in `confDir` are used, in the order of their names; 0: all. */
  readonly maxConfigs: number;
  /** One network after the other instead of side by side. */
  readonly setUpSerially: boolean;
  /** Which address of a pod comes first; `cni`: as the plugin lists them. */
  readonly ipPreference: 'ipv4' | 'ipv6' | 'cni';
}

export interface NriSettings {
  readonly socketPath: string;
  /** Programs here are started as plugins (`NN-name`), with `<name>.conf` of `pluginConfigDir`. */
  readonly pluginDir: string;
  readonly pluginConfigDir: string;
  readonly registrationTimeoutMs: number;
  readonly requestTimeoutMs: number;
}
