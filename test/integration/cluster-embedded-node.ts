import { type ChildProcess, execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { busyboxArchive } from '../../src/app/images/local-images.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { type ControlPlane, clusterSkipReason } from './cluster-fixture.ts';
import { end, launch, newFootprint, started, writeNetwork } from './daemon-fixture.ts';
import { nodeAddress, prepareNode } from './node-files.ts';
import { removeRuntimeResources } from './runtime-cleanup.ts';
import { embeddedSkipReason, type TestRuntime } from './runtime-fixture.ts';
import { listRuntimeResources } from './runtime-resources.ts';
import { startTestCluster } from './test-cluster.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const ARCHIVE_MS = 20_000;
const run = promisify(execFile);

/** A cluster of one node: `nodelet kubelet` with its runtime in the same process. */
export interface EmbeddedNode {
  readonly plane: ControlPlane;
  /** kubelet's root directory. */
  readonly rootDir: string;
  /** The folder of CDI specifications. */
  readonly cdiDir: string;
  /** Kills it with SIGKILL; its containers keep running. */
  kill(): Promise<void>;
  /** Starts the next one on the same directories. */
  start(): Promise<void>;
  /** Its resources on the machine besides the process itself, a line each. */
  remainingResources(): readonly string[];
  stop(): Promise<void>;
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function embeddedNodeSkipReason(): string | false {
  if (!nodeAddress()) return 'needs an address beside loopback';
  return clusterSkipReason() || embeddedSkipReason();
}

export interface EmbeddedNodeOptions {
  readonly apiServerFlags?: readonly string[];
  /** Fields of its KubeletConfiguration. */
  readonly config?: object;
}

/** Resolves when the node is ready at the API server. */
export async function startEmbeddedNode(
  nodeName: string,
  { apiServerFlags = [], config = {} }: EmbeddedNodeOptions = {},
): Promise<EmbeddedNode> {
  const { plane, runtime, agent, stop } = await startTestCluster(
    startMachine,
    (plane, machine) => startEmbeddedAgent(plane, machine, nodeName, config),
    apiServerFlags,
  );
  const rootDir = join(plane.folder, nodeName, 'root');
  const cdiDir = join(runtime.folder, 'cdi');
  return {
    plane,
    rootDir,
    cdiDir,
    kill: agent.kill,
    start: agent.start,
    remainingResources: () => runtime.traces(),
    stop,
  };
}

/** Adds such a node, with additional configuration, to a cluster. */
export async function addEmbeddedNode(
  plane: ControlPlane,
  nodeName: string,
  config: object = {},
): Promise<Pick<EmbeddedNode, 'kill' | 'stop'>> {
  await using undo = new AsyncDisposableStack();
  const machine = await startMachine();
  undo.defer(() => machine.stop());
  const agent = await startEmbeddedAgent(plane, machine, nodeName, config);
  undo.defer(() => agent.stop());
  const standing = undo.move();
  return { kill: agent.kill, stop: () => standing.disposeAsync() };
}

async function startEmbeddedAgent(plane: ControlPlane, machine: Machine, nodeName: string, config: object = {}) {
  const { logPath, flags } = await prepareNode({
    ...{ plane, nodeName, endpoint: 'embedded', cgroupParent: machine.cgroupParent },
    // Features that this machine may not have room for.
    config: { evictionHard: { 'memory.available': '1Mi' }, ...config },
  });
  const agent = agentOn(machine, flags, logPath);
  await agent.start();
  await plane.kubectl('wait', `node/${nodeName}`, '--for=create', '--timeout=60s');
  await plane.kubectl('wait', `node/${nodeName}`, '--for=condition=Ready', '--timeout=60s');
  return agent;
}

/** A private mount namespace for `nodelet kubelet`, whose directories are fixed. */
interface Machine extends Pick<TestRuntime, 'folder' | 'cgroupParent' | 'bridge'> {
  /** Wraps a command so that it runs there. */
  inside(command: readonly string[]): readonly string[];
  traces(): readonly string[];
  stop(): Promise<void>;
}

/** The directories of the embedded runtime, and the test directories mounted there. */
const PLACES = [
  ['/var/lib/nodelet', 'root'],
  ['/run/nodelet', 'state'],
  ['/etc/cni/net.d', 'cni'],
  ['/var/run/cdi', 'cdi'],
] as const;

/** Resources that exist with and without pods: their parent cgroups, a directory of the OCI runtime, the machine itself. */
const STANDING = /^cgroup .*\/kubepods(\/\w+)?$|^state oci\/|^process \d+ unshare /;

/** All processes there end with the first one, and that one ends with this process. */
async function startMachine(): Promise<Machine> {
  const footprint = newFootprint('embedded');
  const { folder } = footprint;
  writeNetwork(footprint);
  for (const [place, name] of PLACES) {
    mkdirSync(place, { recursive: true });
    mkdirSync(join(folder, name), { recursive: true });
  }
  const mounts = PLACES.map(([place, name]) => `mount --bind ${join(folder, name)} ${place}`);
  const script = [...mounts, 'exec catatonit -P'].join(' && ');
  const apart = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
  const logPath = join(folder, 'machine.log');
  await using undo = new AsyncDisposableStack();
  // Its child does not end with SIGTERM.
  const outer = launch(['setpriv', '--pdeathsig', 'KILL', 'unshare', ...apart, 'sh', '-c', script], logPath);
  undo.defer(async () => {
    await end(outer, 'SIGKILL');
    removeRuntimeResources(footprint);
  });
  await started(outer, async () => commandOf(childOf(outer)) === 'catatonit', logPath);
  const first = childOf(outer);
  const inside = (command: readonly string[]) => ['nsenter', `--target=${first}`, '--mount', '--pid', ...command];
  const archive = join(folder, 'busybox.tar');
  writeFileSync(archive, (await busyboxArchive(createLinuxHost(process.env), AbortSignal.timeout(ARCHIVE_MS))).bytes);
  const [program = '', ...args] = inside([BIN, 'image', 'load', archive]);
  await run(program, args);
  const running = undo.move();
  return {
    ...footprint,
    inside,
    traces: () => {
      const all = [...mountsOf(first), ...processesBeside(first), ...listRuntimeResources(footprint)];
      return all.filter((line) => !STANDING.test(line));
    },
    stop: () => running.disposeAsync(),
  };
}

function agentOn(machine: Machine, flags: readonly string[], logPath: string) {
  let daemon: ChildProcess | undefined;
  const log = (): string => (existsSync(logPath) ? readFileSync(logPath, 'utf8') : '');
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const ended = new Promise((resolve) => daemon?.once('exit', resolve));
    process.kill(childOf(daemon), name); // the nsenter process ends with it
    await ended;
  };
  return {
    kill: () => signal('SIGKILL'),
    stop: () => signal('SIGTERM'),
    async start() {
      const before = log().length;
      const next = launch(machine.inside([BIN, 'kubelet', ...flags]), logPath);
      daemon = await started(next, async () => log().slice(before).includes('started'), logPath);
    },
  };
}

/** The child that it waits for. */
function childOf({ pid = 0 }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
}

/** The mounts of the runtime and of pods, as the processes there see them. */
function mountsOf(pid: number): readonly string[] {
  const targets = readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  const isOurs = (target: string): boolean => /^\/(var\/lib|run)\/nodelet\/|\/root\/pods\//.test(target);
  return targets.filter(isOurs).map((target) => `mount ${target}`);
}

/** All processes there except the first one and the agent. */
function processesBeside(first: number): readonly string[] {
  const namespace = readlinkSync(`/proc/${first}/ns/pid`);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== first)
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        const isThere = readlinkSync(`/proc/${pid}/ns/pid`) === namespace;
        return isThere && !line.includes('main.ts kubelet') ? [`process ${line}`] : [];
      } catch {
        return []; // exited meanwhile
      }
    });
}
