import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureLocalImages, PAUSE_IMAGE } from '../../src/app/images/local-images.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { ListPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/linux-clock.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { type Footprint, removeLeftovers } from './containerd-leftovers.ts';

const START_MS = 20_000;
const STOP_MS = 30_000;
const PROGRAMS = ['containerd', 'ctr', 'containerd-shim-runc-v2', 'runc', 'ip', 'setpriv'];
const FILES = [
  '/usr/lib/cni/bridge',
  '/usr/lib/cni/host-local',
  '/usr/lib/cni/loopback',
  '/usr/bin/catatonit',
  '/bin/busybox',
];

/** A containerd of our own, with the two local images (src/app/images) and a network between its pods and this machine. */
export interface TestContainerd {
  readonly endpoint: string;
  readonly folder: string;
  /** For `cgroupParent` of the pods; goes when it stops. */
  readonly cgroupParent: string;
  /** Runs `ctr` against it, in the namespace of CRI. */
  ctr(...args: string[]): string;
  /** Ends it with SIGKILL and starts it again on the same folder. Containers go on. */
  restart(): Promise<void>;
  /** Ends the pods that are left, then containerd, and takes everything away. */
  stop(): Promise<void>;
}

/** Why this machine cannot run it, for `{ skip }` of a test; `false` when it can. */
export function skipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = [...PROGRAMS.filter((program) => !isInPath(program)), ...FILES.filter((file) => !existsSync(file))];
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers') && !existsSync('/sys/fs/cgroup/memory')) return 'needs cgroups';
  try {
    accessSync('/sys/fs/cgroup', constants.W_OK);
  } catch {
    return 'needs writable cgroups';
  }
  return false;
}

let started = 0;

export async function startContainerd(): Promise<TestContainerd> {
  sweepDeadRuns();
  const footprint = footprintOf(process.pid, started++);
  const { folder, socketPath, cgroupParent } = footprint;
  const endpoint = `unix://${socketPath}`;
  writeConfiguration(footprint, started);
  const cri = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 10_000 });
  let daemon = await startDaemon(folder, cri);
  const ctr = (...args: string[]) =>
    execFileSync('ctr', ['--address', socketPath, '--namespace', 'k8s.io', ...args], { encoding: 'utf8' });
  const signal = AbortSignal.timeout(START_MS);
  await ensureLocalImages({ ...createLinuxHost(), images: cri.images, socketPath }, signal);
  return {
    endpoint,
    folder,
    cgroupParent,
    ctr,
    async restart() {
      await end(daemon, 'SIGKILL');
      daemon = await startDaemon(folder, cri);
    },
    async stop() {
      await removePods(cri).catch(() => {}); // what it cannot take away itself goes with the leftovers
      cri.close();
      await end(daemon, 'SIGTERM');
      removeLeftovers(footprint);
    },
  };
}

const FOLDER_NAME = /^nodelet-containerd-(\d+)-(\d+)$/;

function footprintOf(pid: number, count: number): Footprint {
  const folder = join(tmpdir(), `nodelet-containerd-${pid}-${count}`);
  return {
    folder,
    socketPath: join(folder, 'containerd.sock'),
    bridge: `nlt${pid}-${count}`,
    cgroupParent: `/nodelet-test-${pid}-${count}`,
  };
}

/** A run that was killed could not clean up after itself. */
function sweepDeadRuns(): void {
  for (const name of readdirSync(tmpdir())) {
    const match = FOLDER_NAME.exec(name);
    if (match && !existsSync(`/proc/${match[1]}`)) removeLeftovers(footprintOf(Number(match[1]), Number(match[2])));
  }
}

/** A subnet that no other run on this machine has: 10.64.0.0/10, cut by process number. */
function subnetOf(count: number): string {
  const number = (process.pid * 4 + count) % (64 * 256);
  return `10.${64 + (number >> 8)}.${number & 255}.0/24`;
}

function writeConfiguration({ folder, socketPath, bridge }: Footprint, count: number): void {
  mkdirSync(join(folder, 'cni'), { recursive: true });
  const network = {
    cniVersion: '0.4.0',
    name: bridge,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: join(folder, 'ipam'),
          ranges: [[{ subnet: subnetOf(count) }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  };
  writeFileSync(join(folder, 'cni/10-nodelet-test.conflist'), JSON.stringify(network));
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
    config_path = "${folder}/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.other]
    runtime_type = "io.containerd.runc.v2"
`,
  );
}

/** Resolves when it answers and has found its network; rejects with the end of its log when it cannot. */
async function startDaemon(folder: string, cri: CriConnection): Promise<ChildProcess> {
  const logPath = join(folder, 'containerd.log');
  const log = openSync(logPath, 'a');
  // It goes when this process goes, however that ends.
  const args = ['--pdeathsig', 'TERM', 'containerd', '--config', join(folder, 'config.toml')];
  const daemon = spawn('setpriv', args, { stdio: ['ignore', log, log] });
  const deadline = AbortSignal.timeout(START_MS);
  while (!(await isReady(cri, deadline))) {
    if (daemon.exitCode !== null || deadline.aborted) {
      throw new Error(`containerd did not start: ${readFileSync(logPath, 'utf8').slice(-2000)}`);
    }
    await delay(20);
  }
  return daemon;
}

async function isReady(cri: CriConnection, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await cri.runtime.status({ verbose: false }, signal);
    return status?.conditions.every((condition) => condition.status) ?? false;
  } catch {
    return false;
  }
}

async function removePods(cri: CriConnection): Promise<void> {
  const signal = AbortSignal.timeout(STOP_MS);
  const { items } = await cri.runtime.listPodSandbox(ListPodSandboxRequest.create(), signal);
  await Promise.allSettled(
    items.map(async ({ id }) => {
      await cri.runtime.stopPodSandbox({ podSandboxId: id }, signal);
      await cri.runtime.removePodSandbox({ podSandboxId: id }, signal);
    }),
  );
}

function end(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return resolve();
    const killer = setTimeout(() => daemon.kill('SIGKILL'), STOP_MS);
    daemon.once('exit', () => {
      clearTimeout(killer);
      resolve();
    });
    daemon.kill(signal);
  });
}

function isInPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, program)));
}
