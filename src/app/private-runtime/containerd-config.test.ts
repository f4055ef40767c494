import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ContainerdSettings, containerdConfig } from './containerd-config.ts';
import { runtimePaths } from './runtime-paths.ts';

const settings: ContainerdSettings = {
  paths: runtimePaths({ rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' }),
  snapshotter: 'overlayfs',
  sandboxImage: 'localhost/pause:1',
  restrictOomScoreAdj: false,
};

test('containerdConfig() keeps everything below our own folders', () => {
  assert.equal(
    containerdConfig(settings),
    `# Written by nodelet at every start.
version = 2
root = "/var/lib/nodelet/containerd"
state = "/run/nodelet/containerd/state"
required_plugins = ["io.containerd.grpc.v1.cri"]
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.restart",
  "io.containerd.monitor.v1.cgroups",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.snapshotter.v1.native",
]

[debug]
  level = "warn"

[grpc]
  address = "/run/nodelet/containerd/containerd.sock"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = false
  netns_mounts_under_state_dir = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/run/nodelet/containerd/cni"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "/run/nodelet/containerd/runc"
        SystemdCgroup = false
`,
  );
});

const changes: Record<string, { given: Partial<ContainerdSettings>; line: string }> = {
  'does not lower OOM scores where it may not': {
    given: { restrictOomScoreAdj: true },
    line: '  restrict_oom_score_adj = true',
  },
  'copies layers where overlays do not work': { given: { snapshotter: 'native' }, line: '    snapshotter = "native"' },
  'leaves out the snapshotter that it does not use': {
    given: { snapshotter: 'native' },
    line: '  "io.containerd.snapshotter.v1.overlayfs",',
  },
  'quotes what a path may hold': {
    given: { paths: runtimePaths({ rootDir: '/a "b"\\', stateDir: '/run' }) },
    line: 'root = "/a \\"b\\"\\\\/containerd"',
  },
};

for (const [name, { given, line }] of Object.entries(changes)) {
  test(`containerdConfig() ${name}`, () => {
    assert.ok(
      containerdConfig({ ...settings, ...given })
        .split('\n')
        .includes(line),
    );
  });
}
