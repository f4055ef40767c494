import type { Log, LogFields } from '../../../base/log.ts';
import {
  ContainerConfig,
  CreateContainerRequest,
  NamespaceMode,
  PodSandboxConfig,
} from '../../../cri/generated/runtime-v1.ts';
import { createMemoryHost, type MemoryHost } from '../../../host/fake/memory-host.ts';
import type { CommandResult } from '../../../host/processes.ts';
import type { StoredImage } from '../../images/image-store.ts';
import { type Nri, noNri } from '../../nri/nri.ts';
import { type MemoryContainer, MemoryOciRuntime } from '../../oci/fake/memory-oci-runtime.ts';
import type { OciSpec } from '../../oci/oci-spec.ts';
import { type Containers, createContainers } from '../../server/create-containers.ts';
import { type RuntimePaths, runtimePaths } from '../../settings/runtime-paths.ts';
import { DEFAULT_HANDLER } from '../../settings/runtime-settings.ts';
import type { SpecMachine, SpecRequest } from '../../spec/spec-request.ts';
import type { LifecycleEvent } from '../../store/event-sink.ts';
import { openRecordStore } from '../../store/open-record-store.ts';
import type { SandboxRecord } from '../../store/sandbox-record.ts';
import { decodeContainerRecord } from '../decode-container-record.ts';
import { MemorySnapshots } from './memory-snapshots.ts';

export const IMAGE: StoredImage = {
  id: `sha256:${'1'.repeat(64)}`,
  repoTags: ['docker.io/library/web:1'],
  repoDigests: [`docker.io/library/web@sha256:${'2'.repeat(64)}`],
  sizeBytes: 1,
  pinned: false,
  config: {
    user: '',
    env: [],
    entrypoint: ['/web'],
    cmd: [],
    workingDir: '',
    stopSignal: 'SIGQUIT',
    volumes: ['/data'],
    labels: {},
  },
};

export const MACHINE: SpecMachine = {
  cgroupVersion: 'v2',
  cgroupDriver: 'cgroupfs',
  hugePages: false,
  appArmor: false,
  selinux: false,
  ownOomScoreAdj: 0,
  mayLowerOomScore: true,
  architecture: 'amd64',
  kernel: '6.12.0',
  hostname: 'node',
  capabilities: [],
  swapAccounting: true,
  seccomp: true,
};

export const signal = new AbortController().signal;

/**
 * Containers on an in-memory host. `restart` starts a new process of the agent on the same host: files, layers and the
 * processes of containers survive.
 */
export interface ContainerWorld {
  readonly host: MemoryHost;
  readonly paths: RuntimePaths;
  readonly oci: MemoryOciRuntime;
  readonly snapshots: MemorySnapshots;
  readonly sandboxes: Map<string, SandboxRecord>;
  readonly images: StoredImage[];
  readonly events: LifecycleEvent[];
  readonly warnings: Array<{ readonly message: string; readonly fields: LogFields | undefined }>;
  bootId: string;
  containers: Containers;
  restart(): Promise<void>;
}

export interface WorldOptions {
  readonly nri?: Partial<Nri>;
  readonly buildSpec?: (request: SpecRequest) => Promise<OciSpec>;
}

export async function createContainerWorld(options: WorldOptions = {}): Promise<ContainerWorld> {
  const host = createMemoryHost();
  const world: Omit<ContainerWorld, 'containers'> & { containers?: Containers } = {
    host,
    paths: runtimePaths({ rootDir: '/lib', stateDir: '/run' }),
    oci: new MemoryOciRuntime({ clock: host.clock }),
    snapshots: new MemorySnapshots(host),
    sandboxes: new Map([['pod1', sandboxRecord('pod1')]]),
    images: [IMAGE],
    events: [],
    warnings: [],
    bootId: 'boot-1',
    restart: async () => {
      stopped.abort();
      await running;
      ({ stopped, running } = await begin());
    },
  };
  const begin = async () => {
    world.containers = createContainers(await containerDeps(world, options));
    await world.containers.recover(signal);
    const end = new AbortController();
    return { stopped: end, running: world.containers.run(end.signal) };
  };
  let { stopped, running } = await begin();
  return world as ContainerWorld; // `begin` has set `containers`
}

async function containerDeps(world: Omit<ContainerWorld, 'containers'>, { nri, buildSpec }: WorldOptions) {
  const { host, paths, oci, snapshots, sandboxes, images } = world;
  const features = { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: true };
  const { containerRecords: folder, containerOverflow: overflowFolder } = paths;
  return {
    ...host,
    paths,
    snapshots,
    log: logTo(world.warnings),
    records: await openRecordStore({
      folder,
      overflowFolder,
      fs: host.fs,
      log: logTo(world.warnings),
      decode: decodeContainerRecord,
    }),
    sandboxes: {
      all: sandboxes,
      find: (id: string) => sandboxes.get(id),
      filesOf: (id: string) => ({ hosts: `/${id}/h`, hostname: `/${id}/n`, resolvConf: `/${id}/r`, shm: `/${id}/s` }),
    },
    runtimes: {
      at: () => oci,
      handler: (name: string) => (name === '' ? oci : undefined),
      handlers: [{ name: '', ...features, settings: DEFAULT_HANDLER }],
    },
    images: {
      find: (reference: string) => images.find(({ id, repoTags }) => [id, ...repoTags].includes(reference)),
      list: () => images,
    },
    nri: { ...noNri, ...nri },
    events: { publish: (event: LifecycleEvent) => void world.events.push(event) },
    machine: MACHINE,
    buildSpec: buildSpec ?? (async (request: SpecRequest) => plainSpec(request)),
    ociCommand: async (_runtime: unknown, [command, id]: readonly string[]) =>
      command === 'state' ? stateOutput(oci.containers.get(id ?? '')) : finished(1, 'unknown command'),
    bootId: world.bootId,
  };
}

/** Output of `crun state`. */
export function stateOutput(container: MemoryContainer | undefined): CommandResult {
  if (!container) return finished(1, 'does not exist');
  const status = container.end ? 'stopped' : 'running';
  return finished(0, JSON.stringify({ status, pid: container.pid }));
}

function finished(exitCode: number, text: string): CommandResult {
  return { exitCode, stdout: Buffer.from(text), stderr: new Uint8Array() };
}

function logTo(warnings: ContainerWorld['warnings']): Log {
  const keep = (message: string, fields?: LogFields): void => void warnings.push({ message, fields });
  return { debug() {}, info() {}, warn: keep, error: keep };
}

/** The record of a ready sandbox. */
export function sandboxRecord(
  id: string,
  config: Parameters<typeof PodSandboxConfig.fromPartial>[0] = {},
): SandboxRecord {
  return {
    id,
    config: PodSandboxConfig.fromPartial({
      metadata: { name: 'web', namespace: 'default', uid: `uid-${id}`, attempt: 0 },
      logDirectory: `/logs/${id}`,
      ...config,
    }),
    runtimeHandler: '',
    createdAtNs: 1n,
    state: { phase: 'ready' },
    namespaces: {},
    pause: false,
    ips: [],
    networkResults: {},
  };
}

export function createRequest(config: Parameters<typeof ContainerConfig.fromPartial>[0] = {}): CreateContainerRequest {
  return CreateContainerRequest.create({
    podSandboxId: 'pod1',
    config: ContainerConfig.fromPartial({
      metadata: { name: 'main', attempt: 0 },
      image: { image: IMAGE.id, userSpecifiedImage: 'web:1' },
      logPath: 'main/0.log',
      ...config,
    }),
  });
}

export function plainSpec({ container, rootfs }: SpecRequest): OciSpec {
  const ownPid = container.linux?.securityContext?.namespaceOptions?.pid !== NamespaceMode.POD;
  const { unified } = container.linux?.resources ?? {};
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: 5, gid: 6, additionalGids: [7] },
      args: ['/web'],
      env: [],
      cwd: '/',
      capabilities: { bounding: [], effective: [], permitted: [] },
      rlimits: [],
      noNewPrivileges: false,
    },
    root: { path: rootfs, readonly: false },
    mounts: [],
    annotations: {},
    linux: {
      namespaces: [{ type: 'pid', ...(!ownPid && { path: '/pod1/ns/pid' }) }],
      devices: [],
      cgroupsPath: '/c',
      resources: { devices: [], cpu: { shares: 2 }, ...(unified && { unified }) },
      seccomp: { defaultAction: 'SCMP_ACT_ERRNO' },
      maskedPaths: [],
      readonlyPaths: [],
    },
  };
}

/** Creates and starts a container. */
export async function runContainer(
  { containers }: ContainerWorld,
  config?: Parameters<typeof createRequest>[0],
): Promise<string> {
  const { containerId } = await containers.verbs.createContainer(createRequest(config), signal);
  await containers.verbs.startContainer({ containerId }, signal);
  return containerId;
}

/** Everything on the host that belongs to containers; empty after all are removed. */
export async function leftovers({
  host,
  paths,
  oci,
  snapshots,
  containers,
}: ContainerWorld): Promise<readonly string[]> {
  const bundles = await host.fs.readDirectory('/run/containers').catch(() => []);
  const records = await host.fs.readDirectory(paths.containerRecords);
  return [
    ...bundles.map(({ name }) => `bundle ${name}`),
    ...records.map(({ name }) => `record ${name}`),
    ...[...snapshots.mounted].map((target) => `mount ${target}`),
    ...[...snapshots.layers].map((id) => `layer ${id}`),
    ...[...oci.containers.keys()].map((id) => `process ${id}`),
    ...[...containers.records.all.keys()].map((id) => `known ${id}`),
  ];
}
