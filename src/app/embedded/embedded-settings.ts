import type {
  HandlerNetwork,
  HandlerSettings,
  NetworkSettings,
  RuntimeSettings,
} from '../../runtime/settings/runtime-settings.ts';

/** The folders and options of the embedded runtime. */
export interface EmbeddedRuntimeConfig {
  readonly rootDir: string;
  readonly stateDir: string;
  readonly cniConfDir: string;
  readonly cniBinDirs: readonly string[];
  /** 0: all. */
  readonly cniMaxConfNum: number;
  /** By name. The empty name is the default; without it the default is crun or else runc, under that name. */
  readonly handlers: ReadonlyMap<string, HandlerSettings>;
  readonly nriSocket: string | undefined;
  /** Folders of registry hosts.toml files; the first folder that has a registry decides. */
  readonly registryConfigDirs: readonly string[];
  readonly pinnedImages: readonly string[];
  readonly cgroupDriver: RuntimeSettings['cgroupDriver'];
  readonly streamIdleTimeoutMs?: RuntimeSettings['streamIdleTimeoutMs'];
}

/** The defaults of kubelet and containerd. */
export const DEFAULT_RUNTIME_CONFIG: Omit<EmbeddedRuntimeConfig, 'rootDir' | 'stateDir'> = {
  cniConfDir: '/etc/cni/net.d',
  cniBinDirs: ['/opt/cni/bin', '/usr/lib/cni'],
  cniMaxConfNum: 1,
  handlers: new Map(),
  nriSocket: undefined,
  registryConfigDirs: ['/etc/containerd/certs.d', '/etc/docker/certs.d'],
  pinnedImages: [],
  cgroupDriver: 'cgroupfs',
};

/** CDI's default specification folders. */
const CDI_SPEC_DIRS = ['/etc/cdi', '/var/run/cdi'];

const PAUSE_PROGRAM = '/usr/bin/catatonit';

/** The runtime's subfolders of `--root` and `--state`. */
export function runtimeFolders({ rootDir, stateDir }: Pick<EmbeddedRuntimeConfig, 'rootDir' | 'stateDir'>) {
  return { rootDir: `${rootDir}/runtime`, stateDir: `${stateDir}/runtime` };
}

/** The process that serves this socket owns the state folder; the root folder has a lock of its own. */
export function ownerSocket({ stateDir }: Pick<EmbeddedRuntimeConfig, 'stateDir'>): string {
  return `${stateDir}/runtime.sock`;
}

/** Shared by all runtimes of the machine. */
const MONITOR_SCOPE = 'nodelet-monitors.scope';

export interface RuntimeMachine {
  readonly mayLowerOomScore: boolean;
  /** systemd is the machine's init. */
  readonly hasSystemd: boolean;
}

export function embeddedSettings(config: EmbeddedRuntimeConfig, machine: RuntimeMachine): RuntimeSettings {
  return {
    ...runtimeFolders(config),
    handlers: config.handlers,
    network: networkSettings(config),
    nri: config.nriSocket === undefined ? undefined : nriSettings(config.nriSocket),
    cdiSpecDirs: CDI_SPEC_DIRS,
    pauseProgram: PAUSE_PROGRAM,
    registryConfigDirs: config.registryConfigDirs,
    pinnedImages: config.pinnedImages,
    cgroupDriver: config.handlers.get('')?.cgroupDriver ?? config.cgroupDriver,
    monitorScope: machine.hasSystemd ? MONITOR_SCOPE : undefined,
    mayLowerOomScore: machine.mayLowerOomScore,
    ...(config.streamIdleTimeoutMs !== undefined && { streamIdleTimeoutMs: config.streamIdleTimeoutMs }),
  };
}

/** containerd's CRI defaults. */
function networkSettings(config: EmbeddedRuntimeConfig): NetworkSettings {
  const { cniConfDir: confDir, cniBinDirs: binDirs, cniMaxConfNum: maxConfigs } = config;
  const handlers = handlerNetworks(config);
  return { confDir, binDirs, maxConfigs, setUpSerially: false, ipPreference: 'ipv4', handlers };
}

/** Pods without a runtime class are in the default networks, also if the default handler has its own: as in containerd. */
function handlerNetworks({ handlers }: EmbeddedRuntimeConfig): NetworkSettings['handlers'] {
  const named = [...handlers].flatMap(([name, { network }]): [string, HandlerNetwork][] =>
    name === '' || network === undefined ? [] : [[name, network]],
  );
  return new Map(named);
}

/** NRI's defaults, except for the socket. */
function nriSettings(socketPath: string) {
  return {
    socketPath,
    pluginDir: '/opt/nri/plugins',
    pluginConfigDir: '/etc/nri/conf.d',
    registrationTimeoutMs: 5_000,
    requestTimeoutMs: 2_000,
  };
}
