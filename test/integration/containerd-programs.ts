import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupDriver } from '../../src/host/cgroups.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { PAUSE_IMAGE } from './containerd-images.ts';
import type { RuntimeFootprint } from './runtime-cleanup.ts';

/** `debian` is the containerd of this machine (1.6 in Debian 12); `v2` is the one that `make cluster-tools` builds. */
export type ContainerdVersion = 'debian' | 'v2';

export const CONTAINERD_VERSIONS: readonly ContainerdVersion[] = ['debian', 'v2'];

const DEBIAN_PROGRAMS = ['containerd', 'containerd-shim-runc-v2'];
/** Of both versions; `ctr` of Debian also imports images into containerd 2. */
const SHARED_PROGRAMS = ['ctr', 'runc', 'ip', 'setpriv'];
const SHARED_FILES = [
  '/usr/lib/cni/bridge',
  '/usr/lib/cni/host-local',
  '/usr/lib/cni/loopback',
  '/usr/bin/catatonit',
  '/bin/busybox',
];

/** Why this version cannot be started here, else `false`. */
export function programsSkipReason(version: ContainerdVersion): string | false {
  const programs = version === 'debian' ? [...DEBIAN_PROGRAMS, ...SHARED_PROGRAMS] : SHARED_PROGRAMS;
  const missing = [
    ...programs.filter((program) => !isInPath(program)),
    ...SHARED_FILES.filter((file) => !existsSync(file)),
  ];
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  return version === 'v2' && clusterToolsSkipReason('containerd', 'containerd-shim-runc-v2');
}

export function containerdProgram(version: ContainerdVersion): string {
  return version === 'debian' ? 'containerd' : clusterTool('containerd');
}

export interface ConfigurationOptions {
  readonly version: ContainerdVersion;
  /** Names of runtime handlers; all of them are runc. */
  readonly handlers: readonly string[];
  /** The directory of hosts.toml files. */
  readonly hosts: string;
  readonly cgroupDriver: CgroupDriver;
}

/** The text of config.toml. */
export function containerdConfiguration(footprint: RuntimeFootprint, options: ConfigurationOptions): string {
  return options.version === 'debian' ? configurationV2(footprint, options) : configurationV3(footprint, options);
}

/** For containerd 1.6. */
function configurationV2({ folder, socketPath }: RuntimeFootprint, options: ConfigurationOptions): string {
  const { handlers, hosts, cgroupDriver } = options;
  const table = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes';
  const runtimes = handlers.map(
    (name) => `  ${table}.${name}]
    runtime_type = "io.containerd.runc.v2"
  ${table}.${name}.options]
    SystemdCgroup = ${cgroupDriver === 'systemd'}
`,
  );
  return `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "${socketPath}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${hosts}"
${runtimes.join('')}`;
}

/** For containerd 2. Its NRI socket and its `/opt/containerd` would be those of the machine: neither is used. */
function configurationV3({ folder, socketPath }: RuntimeFootprint, options: ConfigurationOptions): string {
  const { handlers, hosts, cgroupDriver } = options;
  const table = '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes';
  const shim = clusterTool('containerd-shim-runc-v2');
  const runtimes = handlers.map(
    (name) => `  ${table}.${name}]
    runtime_type = "io.containerd.runc.v2"
    runtime_path = "${shim}"
  ${table}.${name}.options]
    SystemdCgroup = ${cgroupDriver === 'systemd'}
`,
  );
  return `version = 3
root = "${folder}/root"
state = "${folder}/state"
[grpc]
  address = "${socketPath}"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "${hosts}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "${folder}/cni"
${runtimes.join('')}`;
}

function isInPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, program)));
}
