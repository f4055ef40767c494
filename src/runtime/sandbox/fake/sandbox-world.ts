import { silentLog } from '../../../base/log.ts';
import { NamespaceMode, PodSandboxConfig } from '../../../cri/generated/runtime-v1.ts';
import { createMemoryHost, type MemoryHost } from '../../../host/fake/memory-host.ts';
import { MemoryPodNetwork } from '../../network/fake/memory-pod-network.ts';
import { type Nri, noNri } from '../../nri/nri.ts';
import { MemoryOciRuntime } from '../../oci/fake/memory-oci-runtime.ts';
import { createSandboxes, type Sandboxes } from '../../server/create-sandboxes.ts';
import { type RuntimePaths, runtimePaths } from '../../settings/runtime-paths.ts';
import { DEFAULT_HANDLER } from '../../settings/runtime-settings.ts';
import type { LifecycleEvent } from '../../store/event-sink.ts';
import { openRecordStore } from '../../store/open-record-store.ts';
import { decodeSandboxRecord } from '../decode-sandbox-record.ts';
import type { SandboxContainers, SandboxDeps } from '../sandbox-deps.ts';

export const signal = new AbortController().signal;

/** Records calls; has no containers. */
export class MemorySandboxContainers implements SandboxContainers {
  readonly calls: string[] = [];
  /** The next call of this kind rejects. */
  readonly failures: Partial<Record<'stopAll' | 'removeAll', Error>> = {};

  async stopAll(sandboxId: string): Promise<void> {
    this.#note('stopAll', sandboxId);
  }

  async removeAll(sandboxId: string): Promise<void> {
    this.#note('removeAll', sandboxId);
  }

  statuses(): [] {
    return [];
  }

  #note(call: 'stopAll' | 'removeAll', sandboxId: string): void {
    this.calls.push(`${call} ${sandboxId}`);
    const failure = this.failures[call];
    delete this.failures[call];
    if (failure) throw failure;
  }
}

/**
 * Sandboxes on an in-memory host. `restart` starts a new process of the agent on the same host; `reboot` also removes all
 * mounts and processes.
 */
export interface SandboxWorld {
  readonly host: MemoryHost;
  readonly paths: RuntimePaths;
  readonly oci: MemoryOciRuntime;
  readonly network: MemoryPodNetwork;
  readonly containers: MemorySandboxContainers;
  readonly events: LifecycleEvent[];
  nri: Nri;
  readonly sandboxes: Sandboxes;
  restart(): Promise<void>;
  reboot(): Promise<void>;
  /** Everything on the host that belongs to sandboxes; empty after all are removed. */
  leftovers(): Promise<readonly string[]>;
}

export async function createSandboxWorld(): Promise<SandboxWorld> {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/etc');
  await host.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
  let bootId = 'boot-1';
  const world: SandboxWorld = {
    host,
    paths: runtimePaths({ rootDir: '/lib', stateDir: '/run' }),
    oci: new MemoryOciRuntime({ clock: host.clock }),
    network: new MemoryPodNetwork(),
    containers: new MemorySandboxContainers(),
    events: [],
    nri: noNri,
    get sandboxes() {
      return current.sandboxes;
    },
    async restart() {
      current.end.abort();
      await current.running;
      current = await begin();
    },
    async reboot() {
      bootId = `${bootId}+`;
      for (const { target } of await host.mounts.list()) {
        if (target !== '/') await host.mounts.unmount(target, { lazy: true });
      }
      for (const id of [...world.oci.containers.keys()]) await world.oci.remove({ id, bundle: '' });
      await world.restart();
    },
    leftovers: () => listLeftovers(world),
  };
  const begin = async () => {
    const sandboxes = createSandboxes(await sandboxDeps(world, bootId));
    await sandboxes.recover(signal);
    const end = new AbortController();
    const running = Promise.all([sandboxes.run(end.signal), sandboxes.runCleanups(end.signal)]);
    return { sandboxes, end, running };
  };
  let current = await begin();
  return world;
}

type Machine = Pick<SandboxWorld, 'host' | 'paths' | 'oci' | 'network' | 'containers' | 'events' | 'nri'>;

async function sandboxDeps(world: Machine, bootId: string): Promise<SandboxDeps> {
  const { host, paths, oci, network, containers } = world;
  const features = { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: true };
  return {
    ...host,
    log: silentLog,
    paths,
    network,
    containers,
    records: await openRecordStore({
      folder: paths.sandboxRecords,
      overflowFolder: paths.sandboxOverflow,
      fs: host.fs,
      log: silentLog,
      decode: decodeSandboxRecord,
    }),
    runtimes: {
      handler: (name) => (name === '' || name === 'plain' ? oci : undefined),
      at: () => oci,
      handlers: [
        { name: '', ...features, settings: DEFAULT_HANDLER },
        { name: 'plain', ...features, userNamespaces: false, settings: DEFAULT_HANDLER },
      ],
    },
    nri: new Proxy(noNri, { get: (_, call) => Reflect.get(world.nri, call) }),
    events: { publish: (event) => void world.events.push(event) },
    preparePause: ({ bundle }) => host.fs.makeDirectory(`${bundle}/rootfs`),
    bootId,
  };
}

async function listLeftovers({ host, paths, oci, network }: Machine): Promise<string[]> {
  const below = async (folder: string): Promise<string[]> =>
    (await host.fs.stat(folder)) ? (await host.fs.readDirectory(folder)).map(({ name }) => `${folder}/${name}`) : [];
  return [
    ...(await host.mounts.list()).map(({ target }) => `mount ${target}`).filter((each) => each !== 'mount /'),
    ...[...network.held.keys()].map((id) => `address of ${id}`),
    ...[...oci.containers.keys()].map((id) => `process of ${id}`),
    ...(await below(paths.sandboxRecords)),
    ...(await below('/run/sandboxes')),
    ...(await below('/lib/sandbox-files')),
    ...(await below('/run/containers')),
  ];
}

/** A pod as kubelet requests it: each container has its own PID namespace. */
export function podConfig(change: Parameters<typeof PodSandboxConfig.fromPartial>[0] = {}): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({
    metadata: { name: 'web', namespace: 'default', uid: 'u1', attempt: 0 },
    hostname: 'web',
    labels: { app: 'web' },
    dnsConfig: { servers: ['10.0.0.10'], searches: ['a.example', 'b.example'], options: ['ndots:5'] },
    linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
    ...change,
  });
}

const MAPPING = [{ containerId: 0, hostId: 65536, length: 65536 }];

/** Namespace options of a pod by name, for test tables. */
export const NAMESPACES = {
  usual: { pid: NamespaceMode.CONTAINER },
  sharedProcesses: { pid: NamespaceMode.POD },
  ownUsers: {
    pid: NamespaceMode.CONTAINER,
    usernsOptions: { mode: NamespaceMode.POD, uids: MAPPING, gids: MAPPING },
  },
  node: { network: NamespaceMode.NODE, ipc: NamespaceMode.NODE, pid: NamespaceMode.NODE },
} as const;

export function podWith(namespaces: keyof typeof NAMESPACES): PodSandboxConfig {
  return podConfig({ linux: { securityContext: { namespaceOptions: NAMESPACES[namespaces] } } });
}
