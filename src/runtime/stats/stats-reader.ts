import { posix } from 'node:path';
import { CpuRates } from '../../base/cpu-rates.ts';
import {
  ContainerStats,
  FilesystemUsage,
  LinuxPodSandboxStats,
  PodSandboxStats,
  ProcessUsage,
} from '../../cri/generated/runtime-v1.ts';
import type { CgroupStats, CgroupUsage } from '../../host/cgroup-stats.ts';
import type { Clock } from '../../host/clock.ts';
import type { NetworkNamespaces } from '../../host/network-namespaces.ts';
import { slicePath } from '../../host/systemd.ts';
import { cgroupFolder } from '../oci/scope-path.ts';
import type { Snapshotter } from '../storage/snapshotter.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { LayerSizes } from './layer-sizes.ts';
import { networkMessage, uint64Value, usageMessages } from './usage-messages.ts';

export interface StatsDeps {
  readonly clock: Clock;
  readonly cgroupStats: CgroupStats;
  readonly networkNamespaces: Pick<NetworkNamespaces, 'interfaces'>;
  readonly snapshots: Pick<Snapshotter, 'usage'>;
  readonly sandboxes: Pick<RecordStore<SandboxRecord>, 'all' | 'find'>;
  readonly containers: Pick<RecordStore<ContainerRecord>, 'all' | 'find'>;
  /** The directory of writable layers, as in `ImageFsInfo`. */
  readonly storage: string;
}

/**
 * Reads statistics at the time of the call; nothing is sampled in between. All cgroups of a call are read in one pass, some
 * 100 µs each. Sizes of writable layers are cached (layer-sizes.ts); CPU rates are measured between calls (cpu-rates.ts).
 */
export class StatsReader {
  readonly #deps: StatsDeps;
  readonly #rates = new CpuRates();
  readonly sizes: LayerSizes;

  constructor(deps: StatsDeps) {
    this.#deps = deps;
    this.sizes = new LayerSizes(deps);
  }

  /** In the order of `records`. A container that does not run has only the size of its layer. */
  async readContainers(records: readonly ContainerRecord[]): Promise<ContainerStats[]> {
    const usage = await this.#deps.cgroupStats.usage(records.flatMap(runningCgroup));
    return this.#containerMessages(records, usage);
  }

  /** In the order of `records`, each with its containers. */
  async readSandboxes(records: readonly SandboxRecord[]): Promise<PodSandboxStats[]> {
    const { cgroupStats, networkNamespaces } = this.#deps;
    const members = Map.groupBy(this.#deps.containers.all.values(), ({ sandboxId }) => sandboxId);
    const containers = records.flatMap(({ id }) => filterRunning(members.get(id)));
    const usage = await cgroupStats.usage([...records.flatMap(podCgroup), ...containers.flatMap(runningCgroup)]);
    const networks = await networkNamespaces.interfaces(records.flatMap(({ namespaces }) => namespaces.network ?? []));
    const messages = await this.#containerMessages(containers, usage);
    const byId = new Map(messages.map((message) => [message.attributes?.id, message]));
    const timestamp = this.#nowNs();
    return records.map((record) => {
      const own = filterRunning(members.get(record.id));
      const [path] = podCgroup(record);
      const used = path === undefined ? undefined : usage.get(path);
      const interfaces = networks.get(record.namespaces.network ?? '');
      const processes = sum(own.flatMap(runningCgroup).map((each) => usage.get(each)?.processes.length ?? 0));
      return PodSandboxStats.create({
        attributes: recordAttributes(record),
        linux: LinuxPodSandboxStats.create({
          ...(used && podUsage(used, this.#rateOf(record.id, used), timestamp)),
          network: interfaces && networkMessage(interfaces, timestamp),
          process: ProcessUsage.create({ timestamp, processCount: uint64Value(processes) }),
          containers: own.flatMap(({ id }) => byId.get(id) ?? []),
        }),
      });
    });
  }

  async #containerMessages(
    records: readonly ContainerRecord[],
    usage: ReadonlyMap<string, CgroupUsage>,
  ): Promise<ContainerStats[]> {
    const timestamp = this.#nowNs();
    this.#dropRemoved();
    return Promise.all(
      records.map(async (record) => {
        const [path] = runningCgroup(record);
        const used = path === undefined ? undefined : usage.get(path);
        const rate = used && this.#rateOf(record.id, used);
        return ContainerStats.create({
          attributes: recordAttributes(record),
          ...(used && usageMessages(used, rate, timestamp)),
          writableLayer: await this.#layerMessage(record.id),
        });
      }),
    );
  }

  async #layerMessage(id: string): Promise<FilesystemUsage | undefined> {
    const size = await this.sizes.size(id);
    if (!size) return undefined;
    return FilesystemUsage.create({
      timestamp: BigInt(Math.trunc(size.atMs)) * 1_000_000n,
      fsId: { mountpoint: this.#deps.storage },
      usedBytes: uint64Value(size.bytes),
      inodesUsed: uint64Value(size.inodes),
    });
  }

  #rateOf(id: string, { cpuNs }: CgroupUsage): bigint | undefined {
    return this.#rates.nanoCores(id, cpuNs, BigInt(Math.trunc(this.#deps.clock.monotonic() * 1e6)));
  }

  #dropRemoved(): void {
    const { containers, sandboxes } = this.#deps;
    this.#rates.retain((id) => containers.all.has(id) || sandboxes.all.has(id));
    this.sizes.retain((id) => containers.all.has(id));
  }

  #nowNs(): bigint {
    return BigInt(Math.trunc(this.#deps.clock.now())) * 1_000_000n;
  }
}

/** Pod statistics have no field for swap. */
function podUsage(used: CgroupUsage, nanoCores: bigint | undefined, timestamp: bigint) {
  const { cpu, memory, io } = usageMessages(used, nanoCores, timestamp);
  return { cpu, memory, io };
}

/** The cgroup of a running container, as a list of at most one. */
export function runningCgroup({ state, spec }: ContainerRecord): readonly string[] {
  return state.phase === 'running' && spec ? [cgroupFolder(spec.linux.cgroupsPath)] : [];
}

/** The pod's cgroup, which kubelet creates; empty if the caller gave no parent. */
export function podCgroup({ config }: SandboxRecord): readonly string[] {
  const parent = config.linux?.cgroupParent ?? '';
  if (parent === '') return [];
  return [parent.endsWith('.slice') && !parent.includes('/') ? slicePath(parent) : posix.join('/', parent)];
}

export function filterRunning(records: readonly ContainerRecord[] = []): readonly ContainerRecord[] {
  return records.filter(({ state }) => state.phase === 'running');
}

function recordAttributes({ id, config }: ContainerRecord): NonNullable<ContainerStats['attributes']>;
function recordAttributes({ id, config }: SandboxRecord): NonNullable<PodSandboxStats['attributes']>;
function recordAttributes({ id, config }: ContainerRecord | SandboxRecord) {
  return { id, metadata: config.metadata, labels: config.labels, annotations: config.annotations };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
