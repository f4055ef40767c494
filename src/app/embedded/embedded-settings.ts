import type { NetworkSettings, RuntimeSettings } from '../../runtime/settings/runtime-settings.ts';

/** Where the embedded runtime is, and what its user chose. */
export interface EmbeddedRuntimeConfig {
  readonly rootDir: string;
  readonly stateDir: string;
  readonly cniConfDir: string;
  readonly cniBinDirs: readonly string[];
  /** Besides the default, which is crun or else runc, and is known by that name. */
  readonly handlers: ReadonlyMap<string, string>;
  readonly nriSocket: string | undefined;
  /** How to reach registries: mirrors, authorities, headers; the first folder that speaks of one counts. */
  readonly registryConfigDirs: readonly string[];
  readonly pinnedImages: readonly string[];
}

/** What kubelet's and containerd's users expect when they have said nothing. */
export const DEFAULT_RUNTIME_CONFIG: Omit<EmbeddedRuntimeConfig, 'rootDir' | 'stateDir'> = {
  cniConfDir: '/etc/cni/net.d',
  cniBinDirs: ['/opt/cni/bin', '/usr/lib/cni'],
  handlers: new Map(),
  nriSocket: undefined,
  registryConfigDirs: ['/etc/containerd/certs.d', '/etc/docker/certs.d'],
  pinnedImages: [],
};

/** Where distributions and operators put CDI specifications. */
const CDI_SPEC_DIRS = ['/etc/cdi', '/var/run/cdi'];

/** Of Debian's golang-github-containers-common. */
const SECCOMP_PROFILE = '/usr/share/containers/seccomp.json';

const PAUSE_PROGRAM = '/usr/bin/catatonit';

/** The runtime's part of the folders that `nodelet` is given. */
export function runtimeFolders({ rootDir, stateDir }: Pick<EmbeddedRuntimeConfig, 'rootDir' | 'stateDir'>) {
  return { rootDir: `${rootDir}/runtime`, stateDir: `${stateDir}/runtime` };
}

/** The process that serves this socket has the state folder; the root folder has a lock of its own. */
export function ownerSocket({ stateDir }: Pick<EmbeddedRuntimeConfig, 'stateDir'>): string {
  return `${stateDir}/runtime.sock`;
}

export function embeddedSettings(
  choices: EmbeddedRuntimeConfig,
  machine: { readonly mayLowerOomScore: boolean },
): RuntimeSettings {
  return {
    ...runtimeFolders(choices),
    handlers: choices.handlers,
    network: networkSettings(choices),
    nri: choices.nriSocket === undefined ? undefined : nriSettings(choices.nriSocket),
    cdiSpecDirs: CDI_SPEC_DIRS,
    seccompProfilePath: SECCOMP_PROFILE,
    pauseProgram: PAUSE_PROGRAM,
    registryConfigDirs: choices.registryConfigDirs,
    pinnedImages: choices.pinnedImages,
    mayLowerOomScore: machine.mayLowerOomScore,
  };
}

/** As containerd's CRI has it. */
function networkSettings({ cniConfDir, cniBinDirs }: EmbeddedRuntimeConfig): NetworkSettings {
  return { confDir: cniConfDir, binDirs: cniBinDirs, maxConfigs: 1, setUpSerially: false, ipPreference: 'ipv4' };
}

/** As NRI has it, but for the socket. */
function nriSettings(socketPath: string) {
  return {
    socketPath,
    pluginDir: '/opt/nri/plugins',
    pluginConfigDir: '/etc/nri/conf.d',
    registrationTimeoutMs: 5_000,
    requestTimeoutMs: 2_000,
  };
}
