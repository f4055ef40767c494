import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import {
  ContainerConfig,
  ContainerState,
  type ContainerStatus,
  type DeepPartial,
  NamespaceMode,
  PodSandboxConfig,
} from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { mountedCgroups, runningProcesses } from './runtime-cleanup.ts';
import { type EmbeddedOptions, startEmbedded, type TestRuntime } from './runtime-fixture.ts';
import { listRuntimeResources } from './runtime-resources.ts';
import { becomes, until } from './until.ts';

export const signal = new AbortController().signal;

/** The changes of a test to a default pod or container. */
export type PodChange = DeepPartial<PodSandboxConfig>;
export type ContainerChange = DeepPartial<ContainerConfig>;

/** `nodelet cri` in a separate process, and its client. */
export interface Scene {
  readonly runtime: TestRuntime;
  readonly cri: CriConnection;
  podConfig(change?: PodChange): PodSandboxConfig;
  runPod(change?: PodChange, runtimeHandler?: string): Promise<ScenePod>;
  status(containerId: string): Promise<ContainerStatus>;
  /** The host id of a container's first process; 0 when it does not run. */
  pid(containerId: string): Promise<number>;
  /** Waits until it has exited. */
  exited(containerId: string): Promise<ContainerStatus>;
  stopContainer(containerId: string, seconds: bigint): Promise<ContainerStatus>;
  /** The output of a shell command in a container; it must succeed. */
  ask(containerId: string, line: string): Promise<string>;
  /** The log lines of a container, without time and stream. */
  logLines(containerId: string): Promise<string[]>;
  stop(): Promise<void>;
}

export interface ScenePod {
  readonly id: string;
  readonly config: PodSandboxConfig;
  create(line: string, change?: ContainerChange): Promise<string>;
  start(line: string, change?: ContainerChange): Promise<string>;
  /** Resolves with the container once it has printed `ready`. */
  startReady(line: string, change?: ContainerChange): Promise<string>;
  remove(): Promise<void>;
}

/** `NODELET_TEST_HANDLER=runc=/usr/sbin/runc` runs all pods with a different OCI runtime. */
const OTHER_HANDLER = process.env['NODELET_TEST_HANDLER'];
export const HANDLER = OTHER_HANDLER?.split('=')[0] ?? '';

let pods = 0;
let containers = 0;

/** A shell command that exits on SIGTERM, and forks nothing once it has printed `ready`. */
export const WAITS = 'mkfifo /tmp/never; trap "exit 143" TERM; read x < /tmp/never & echo ready; wait';

export async function startScene({ flags = [], ...options }: EmbeddedOptions = {}): Promise<Scene> {
  const other = OTHER_HANDLER ? ['--runtime-handler', OTHER_HANDLER] : [];
  const runtime = await startEmbedded({ ...options, flags: [...other, ...flags] });
  const cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 180_000 });
  const podConfig = (change: PodChange = {}): PodSandboxConfig => plainPod(runtime, change);
  const status: Scene['status'] = async (containerId) => {
    const answer = await cri.runtime.containerStatus({ containerId, verbose: false }, signal);
    assert.ok(answer.status);
    return answer.status;
  };
  const scene: Scene = {
    runtime,
    cri,
    podConfig,
    status,
    async runPod(change, runtimeHandler = HANDLER) {
      const config = podConfig(change);
      const { podSandboxId } = await cri.runtime.runPodSandbox({ config, runtimeHandler }, signal);
      return podOf(scene, podSandboxId, config);
    },
    async pid(containerId) {
      const { info } = await cri.runtime.containerStatus({ containerId, verbose: true }, signal);
      return JSON.parse(info['info'] ?? '{}').pid;
    },
    exited: (containerId) =>
      until(async () => {
        const now = await status(containerId);
        return now.state === ContainerState.CONTAINER_EXITED ? now : undefined;
      }),
    async stopContainer(containerId, timeout) {
      await cri.runtime.stopContainer({ containerId, timeout }, signal);
      return status(containerId);
    },
    async ask(containerId, line) {
      const request = { containerId, cmd: ['sh', '-c', line], timeout: 120n };
      const { exitCode, stdout, stderr } = await cri.runtime.execSync(request, signal);
      assert.equal(exitCode, 0, `${line}: ${Buffer.from(stderr)}`);
      return Buffer.from(stdout).toString().trim();
    },
    logLines: async (containerId) => linesOf(readFileSync((await status(containerId)).logPath, 'utf8')),
    async stop() {
      cri.close();
      await runtime.stop();
    },
  };
  return scene;
}

function plainPod({ folder, cgroupParent }: TestRuntime, change: PodChange): PodSandboxConfig {
  const name = `pod-${process.pid}-${pods++}`;
  return PodSandboxConfig.fromPartial({
    metadata: { name, uid: `uid-of-${name}`, namespace: 'default', attempt: 0 },
    hostname: name,
    logDirectory: join(folder, 'logs', name),
    ...change,
    linux: {
      cgroupParent: join(cgroupParent, name),
      securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } },
      ...change.linux,
    },
  });
}

/** As kubelet does: a container requests the namespaces of its pod. */
export function plainContainer(line: string, pod: PodSandboxConfig, change: ContainerChange = {}): ContainerConfig {
  const name = `c${containers++}`;
  const namespaceOptions = pod.linux?.securityContext?.namespaceOptions ?? {};
  return ContainerConfig.fromPartial({
    metadata: { name, attempt: 0 },
    image: { image: BUSYBOX_IMAGE },
    command: ['sh', '-c', line],
    logPath: `${name}/0.log`,
    ...change,
    linux: { ...change.linux, securityContext: { namespaceOptions, ...change.linux?.securityContext } },
  });
}

function podOf(scene: Scene, id: string, config: PodSandboxConfig): ScenePod {
  const { runtime } = scene.cri;
  const create: ScenePod['create'] = async (line, change) => {
    const request = { podSandboxId: id, config: plainContainer(line, config, change), sandboxConfig: config };
    return (await runtime.createContainer(request, signal)).containerId;
  };
  const start: ScenePod['start'] = async (line, change) => {
    const containerId = await create(line, change);
    await runtime.startContainer({ containerId }, signal);
    return containerId;
  };
  return {
    id,
    config,
    create,
    start,
    async startReady(line, change) {
      const containerId = await start(line, change);
      await until(async () => (await scene.logLines(containerId)).includes('ready') || undefined);
      return containerId;
    },
    async remove() {
      await runtime.stopPodSandbox({ podSandboxId: id }, signal);
      await runtime.removePodSandbox({ podSandboxId: id }, signal);
      removePodCgroup(config);
    },
  };
}

/** As kubelet, the owner of the cgroup, does. It must be empty by then. */
function removePodCgroup({ linux }: PodSandboxConfig): void {
  for (const hierarchy of mountedCgroups()) {
    const path = join(hierarchy, linux?.cgroupParent ?? '');
    if (existsSync(path)) rmdirSync(path);
  }
}

/** The lines of a log in CRI format; partial lines (`P`) are joined. */
export function linesOf(log: string): string[] {
  const lines: string[] = [];
  let begun = '';
  for (const entry of log.split('\n')) {
    const [, tag, text] = /^\S+ (?:stdout|stderr) ([FP]) (.*)$/.exec(entry) ?? [];
    if (tag === undefined) continue;
    begun += text;
    if (tag === 'P') continue;
    lines.push(begun);
    begun = '';
  }
  return lines;
}

/** Removed resources disappear from lists at once, and from disk a little later: waits for that. */
export function settledRuntimeResources(runtime: TestRuntime): Promise<readonly string[]> {
  return until(() => {
    const traces = listRuntimeResources(runtime);
    return traces.some((line) => line.startsWith('unfinished ')) ? undefined : traces;
  });
}

/** A scene for all tests of a `describe`, which must leave no resources besides those of `prepare`. */
export function sceneAround(prepare: (scene: Scene) => void | Promise<void>): void {
  let scene: Scene;
  let empty: readonly string[];
  before(async () => {
    scene = await startScene();
    await prepare(scene);
    empty = await settledRuntimeResources(scene.runtime);
  });
  after(async () => {
    const leaks = await becomes(() => listRuntimeResources(scene.runtime), empty).catch((error: unknown) => error);
    await scene.stop();
    assert.ifError(leaks);
  });
}

/** The monitor of a container. */
export function monitorOf(containerId: string): number {
  const monitor = runningProcesses().find(({ args }) => args[0]?.endsWith('conmon') && args.includes(containerId));
  assert.ok(monitor, `no monitor for ${containerId}`);
  return monitor.pid;
}

export function childrenOf(pid: number): number[] {
  return runningProcesses().flatMap((each) => (each.parent === pid ? [each.pid] : []));
}

/** The directory of a cgroup: on v1 in the hierarchy of a controller. */
export function cgroupFolder(controller: string, path: string): string {
  const hierarchies = mountedCgroups();
  return join(
    hierarchies.find((hierarchy) => basename(hierarchy).split(',').includes(controller)) ?? '/sys/fs/cgroup',
    path,
  );
}

/** All processes of a cgroup and its descendants. */
export function processesIn(cgroup: string): number[] {
  try {
    const own = readFileSync(join(cgroup, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    const folders = readdirSync(cgroup, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...own, ...folders.flatMap(({ name }) => processesIn(join(cgroup, name)))];
  } catch {
    return [];
  }
}

/** In KiB; `VmRSS`, `VmHWM`. */
export function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
