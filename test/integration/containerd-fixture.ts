import { type ChildProcess, execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectCri } from '../../src/cri/client.ts';
import type { CgroupDriver } from '../../src/host/cgroups.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { importLocalImages, PAUSE_IMAGE } from './containerd-images.ts';
import { end, launch, newFootprint, startedRuntime, stopRuntime, writeNetwork } from './daemon-fixture.ts';
import type { RuntimeFootprint } from './runtime-cleanup.ts';
import type { TestRuntime } from './runtime-fixture.ts';

const START_MS = 60_000;
const PROGRAMS = ['containerd', 'ctr', 'containerd-shim-runc-v2', 'runc', 'ip', 'setpriv'];
const FILES = [
  '/usr/lib/cni/bridge',
  '/usr/lib/cni/host-local',
  '/usr/lib/cni/loopback',
  '/usr/bin/catatonit',
  '/bin/busybox',
];

/** A private containerd with two local images and a pod network. */
export interface TestContainerd extends TestRuntime {
  /** Runs `ctr` against it, in the CRI namespace. */
  ctr(...args: string[]): string;
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function skipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = [...PROGRAMS.filter((program) => !isInPath(program)), ...FILES.filter((file) => !existsSync(file))];
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : cgroupSkipReason();
}

export function cgroupSkipReason(): string | false {
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers') && !existsSync('/sys/fs/cgroup/memory')) return 'needs cgroups';
  try {
    accessSync('/sys/fs/cgroup', constants.W_OK);
  } catch {
    return 'needs writable cgroups';
  }
  return false;
}

export interface ContainerdOptions {
  /** Names of runtime handlers beside the default one; all of them are runc. */
  readonly handlers?: readonly string[];
  /** Whether its network maps host ports to pods. */
  readonly hostPorts?: boolean;
  /** Its directory of hosts.toml files; absent: `certs.d` of its own directory. */
  readonly hosts?: string;
  readonly cgroupDriver?: CgroupDriver;
}

export async function startContainerd({
  handlers = ['other'],
  hostPorts = false,
  hosts,
  cgroupDriver = 'cgroupfs',
}: ContainerdOptions = {}): Promise<TestContainerd> {
  const footprint = newFootprint('containerd');
  const { folder, socketPath, cgroupParent, bridge } = footprint;
  const endpoint = `unix://${socketPath}`;
  writeNetwork(footprint, hostPorts);
  const names = ['runc', ...handlers];
  writeConfiguration(footprint, { handlers: names, hosts: hosts ?? join(folder, 'certs.d'), cgroupDriver });
  const cri = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 10_000 });
  const start = (): Promise<ChildProcess> => {
    const logPath = join(folder, 'containerd.log');
    const daemon = launch(['containerd', '--config', join(folder, 'config.toml')], logPath);
    return startedRuntime(daemon, cri, logPath);
  };
  let daemon = await start();
  const ctr = (...args: string[]) =>
    execFileSync('ctr', ['--address', socketPath, '--namespace', 'k8s.io', ...args], { encoding: 'utf8' });
  await importLocalImages(cri.images, socketPath, AbortSignal.timeout(START_MS));
  return {
    endpoint,
    folder,
    cgroupParent,
    bridge,
    pid: () => daemon.pid ?? 0,
    ctr,
    async tag(from, to) {
      ctr('images', 'tag', from, to);
    },
    async load(path) {
      ctr('images', 'import', '--no-unpack', path);
    },
    async restart() {
      await end(daemon, 'SIGKILL');
      daemon = await start();
    },
    stop: () => stopRuntime(cri, daemon, footprint),
  };
}

function writeConfiguration(
  { folder, socketPath }: RuntimeFootprint,
  { handlers, hosts, cgroupDriver }: Required<Omit<ContainerdOptions, 'hostPorts'>>,
): void {
  const table = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes';
  const runtimes = handlers.map(
    (name) => `  ${table}.${name}]
    runtime_type = "io.containerd.runc.v2"
  ${table}.${name}.options]
    SystemdCgroup = ${cgroupDriver === 'systemd'}
`,
  );
  writeFileSync(
    join(folder, 'config.toml'),
    `version = 2
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
${runtimes.join('')}`,
  );
}

function isInPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, program)));
}
