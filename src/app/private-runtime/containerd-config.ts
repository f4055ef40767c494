import type { RuntimePaths } from './runtime-paths.ts';

/** How containerd lays images out on disk: `native` copies, and works on any file system. */
export type Snapshotter = 'overlayfs' | 'native';

export interface ContainerdSettings {
  readonly paths: RuntimePaths;
  readonly snapshotter: Snapshotter;
  readonly sandboxImage: string;
  /** For a machine where even root may not lower an OOM score: without CAP_SYS_RESOURCE. */
  readonly restrictOomScoreAdj: boolean;
}

/** What CRI does not need. Most of it would warn about the machine at every start. */
const UNUSED_PLUGINS = [
  'io.containerd.internal.v1.opt',
  'io.containerd.internal.v1.restart',
  'io.containerd.monitor.v1.cgroups',
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.tracing.processor.v1.otlp',
];

/** The config.toml of containerd 1.6 for a daemon that shares nothing with another one on this machine. */
export function containerdConfig({
  paths,
  snapshotter,
  sandboxImage,
  restrictOomScoreAdj,
}: ContainerdSettings): string {
  const otherSnapshotter = snapshotter === 'native' ? 'overlayfs' : 'native';
  const disabled = [...UNUSED_PLUGINS, `io.containerd.snapshotter.v1.${otherSnapshotter}`];
  return `# Written by nodelet at every start.
version = 2
root = ${toml(paths.root)}
state = ${toml(paths.state)}
required_plugins = ["io.containerd.grpc.v1.cri"]
disabled_plugins = [
${disabled.map((plugin) => `  ${toml(plugin)},\n`).join('')}]

[debug]
  level = "warn"

[grpc]
  address = ${toml(paths.socket)}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${toml(sandboxImage)}
  restrict_oom_score_adj = ${restrictOomScoreAdj}
  netns_mounts_under_state_dir = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = ${toml(paths.cniConfDir)}

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = ${toml(snapshotter)}
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = ${toml(paths.runcRoot)}
        SystemdCgroup = false
`;
}

/** A basic string of TOML escapes as JSON does. */
function toml(text: string): string {
  return JSON.stringify(text);
}
