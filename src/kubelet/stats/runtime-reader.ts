import type { NetworkStats } from '../../api/stats-summary.ts';
import { abortable } from '../../base/abortable.ts';
import { CpuRates } from '../../base/cpu-rates.ts';
import type { Log } from '../../base/log.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { ContainerStats, PodSandboxStats } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { CgroupStats, CgroupUsage } from '../../host/cgroup-stats.ts';
import type { CgroupDriver } from '../../host/cgroups.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../pod/observed-pod.ts';
import { containerCgroups } from './container-cgroups.ts';
import type { MeasuredUsage } from './fs-stats.ts';
import { reportedNetworkStats } from './network-stats.ts';
import type { SandboxNetworks } from './sandbox-networks.ts';
import {
  cgroupUsageStats,
  optional,
  type ReadingTime,
  reportedUsageStats,
  sumOfSwap,
  type UsageStats,
} from './usage-stats.ts';

/** How long a reading waits for the runtime. Without its answer, figures come from cgroups alone. */
const RUNTIME_MS = 5_000;
/** The age from which the sizes of writable layers are read again in the background. kubelet reads them every ten seconds. */
const LAYERS_MS = 10_000;

/** A pod to read: its sandbox and the containers that run. */
export interface StatsTarget {
  readonly pod: ObservedPod;
  readonly sandbox: ObservedSandbox;
  readonly containers: readonly ObservedContainer[];
  /** The path of the pod's cgroup; absent: its spec is unknown. */
  readonly cgroup: string | undefined;
}

export interface PodReading extends UsageStats {
  readonly network?: NetworkStats;
  readonly processCount?: number;
  /** By container id. */
  readonly containers: ReadonlyMap<string, ContainerReading>;
}

export interface ContainerReading extends UsageStats {
  readonly layer?: LayerUsage;
}

export interface LayerUsage extends MeasuredUsage {
  /** A path on the file system of the layer. */
  readonly mountpoint: string;
}

/** `usage`: CPU and memory only. `all`: everything. Both are read at the time of the call. */
export type ReadingScope = 'usage' | 'all';

export interface RuntimeReaderDeps {
  readonly runtime: Pick<RuntimeService, 'listPodSandboxStats' | 'listContainerStats'>;
  readonly cgroupStats: Pick<CgroupStats, 'usage'>;
  readonly networks: Pick<SandboxNetworks, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly cgroupDriver: CgroupDriver;
  /** The runtime reports all figures of a pod in one call, so cgroups need not be read by the agent. */
  readonly reportsPods: boolean;
}

/**
 * Reads the usage of pods and containers.
 *
 * 1. CPU and memory are those of cgroups, as in kubelet: read by the agent, or by a runtime that reports whole pods.
 * 2. A container whose cgroup the agent does not find (in a virtual machine) has what the runtime reports.
 * 3. A runtime that does not answer in time costs only what it alone knows: the sizes of writable layers.
 */
export class RuntimeReader {
  readonly #deps: RuntimeReaderDeps;
  readonly #rates = new CpuRates();
  /** The last known sizes, by container id. */
  #layers: ReadonlyMap<string, LayerUsage> = new Map();
  #layersAtMs = Number.NEGATIVE_INFINITY;
  #layersReading: Promise<void> | undefined;

  constructor(deps: RuntimeReaderDeps) {
    this.#deps = deps;
  }

  /** The readings by sandbox id. A pod of which nothing could be read is missing. */
  async read(
    targets: readonly StatsTarget[],
    scope: ReadingScope,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodReading>> {
    const ids = new Set(targets.flatMap(({ sandbox, containers }) => [sandbox.id, ...containers.map(({ id }) => id)]));
    this.#rates.retain((id) => ids.has(id));
    const limited = AbortSignal.any([signal, this.#deps.clock.deadline(RUNTIME_MS)]);
    const whole = scope === 'all' && this.#deps.reportsPods ? await this.#readWholePods(targets, limited) : undefined;
    return whole ?? this.#readCgroups(targets, scope, limited);
  }

  /** The sizes of writable layers as of the last reading, by container id. Old ones are read again in the background. */
  layers(signal: AbortSignal): ReadonlyMap<string, LayerUsage> {
    const { clock } = this.#deps;
    if (!this.#layersReading && clock.monotonic() - this.#layersAtMs >= LAYERS_MS) {
      const limited = AbortSignal.any([signal, clock.deadline(RUNTIME_MS)]);
      this.#layersReading = this.#containerMessages(limited).then(() => {
        this.#layersReading = undefined;
      });
    }
    return this.#layers;
  }

  /** `undefined` if the runtime does not answer. */
  async #readWholePods(
    targets: readonly StatsTarget[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodReading> | undefined> {
    const { runtime, log } = this.#deps;
    try {
      const { stats } = await abortable(runtime.listPodSandboxStats({ filter: undefined }, signal), signal);
      const byId = new Map(stats.map((each) => [each.attributes?.id, each]));
      this.#keepLayers(stats.flatMap(({ linux }) => linux?.containers ?? []));
      const at = this.#now();
      return new Map(
        targets.flatMap(({ sandbox }) => {
          const message = byId.get(sandbox.id);
          return message ? [[sandbox.id, this.#reportedPod(message, at)] as const] : [];
        }),
      );
    } catch (error) {
      log.warn('cannot list the statistics of pod sandboxes, reading cgroups', { error });
      return undefined;
    }
  }

  #reportedPod({ attributes, linux }: PodSandboxStats, at: ReadingTime): PodReading {
    const containers = new Map(
      (linux?.containers ?? []).map((each) => [each.attributes?.id ?? '', this.#reportedContainer(each, at)]),
    );
    return {
      ...reportedUsageStats(attributes?.id ?? '', linux ?? {}, at, this.#rates),
      ...sumOfSwap([...containers.values()]),
      ...(linux?.network && { network: reportedNetworkStats(linux.network) }),
      ...optional('processCount', linux?.process?.processCount?.value),
      containers,
    };
  }

  #reportedContainer(message: ContainerStats, at: ReadingTime): ContainerReading {
    const layer = layerUsage(message);
    const usage = reportedUsageStats(message.attributes?.id ?? '', message, at, this.#rates);
    return { ...usage, ...(layer && { layer }) };
  }

  async #readCgroups(
    targets: readonly StatsTarget[],
    scope: ReadingScope,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodReading>> {
    const { cgroupStats, cgroupDriver, networks } = this.#deps;
    const paths = targets.map((target) => containerCgroups(target, cgroupDriver));
    const all = [
      ...targets.flatMap(({ cgroup }) => cgroup ?? []),
      ...paths.flatMap((each) => [...each.values()].flat()),
    ];
    const [usage, interfaces, reported] = await Promise.all([
      cgroupStats.usage(all),
      scope === 'all' ? networks.read(targets) : new Map<string, NetworkStats>(),
      scope === 'all' ? this.#containerMessages(signal) : undefined,
    ]);
    const at = this.#now();
    const figures = targets.map((target, index) => this.#ofCgroups(target, usage, paths[index], at));
    const isComplete = targets.every(({ containers }, index) => figures[index]?.containers.size === containers.length);
    const messages = reported ?? (isComplete ? [] : await this.#containerMessages(signal));
    const byId = new Map(messages.map((each) => [each.attributes?.id, each]));
    return new Map(
      targets.map((target, index) => {
        const network = interfaces.get(target.sandbox.id);
        const reading = this.#withReported(target, figures[index], byId, at);
        return [target.sandbox.id, { ...reading, ...(network && { network }) }];
      }),
    );
  }

  #ofCgroups(
    { sandbox, cgroup = '', containers }: StatsTarget,
    usage: ReadonlyMap<string, CgroupUsage>,
    paths: ReadonlyMap<string, readonly string[]> | undefined,
    at: ReadingTime,
  ): PodReading {
    const found = containers.flatMap(({ id }) => {
      const used = paths?.get(id)?.flatMap((path) => usage.get(path) ?? [])[0];
      return used ? [{ id, used }] : [];
    });
    const own = usage.get(cgroup);
    return {
      ...(own && cgroupUsageStats(sandbox.id, own, at, this.#rates)),
      ...(found.length > 0 && { processCount: found.reduce((sum, { used }) => sum + used.processes.length, 0) }),
      containers: new Map(found.map(({ id, used }) => [id, cgroupUsageStats(id, used, at, this.#rates)])),
    };
  }

  /** Adds what only the runtime knows. */
  #withReported(
    { containers }: StatsTarget,
    reading: PodReading | undefined,
    messages: ReadonlyMap<string | undefined, ContainerStats>,
    at: ReadingTime,
  ): PodReading {
    const merged = containers.flatMap(({ id }) => {
      const message = messages.get(id);
      const own = reading?.containers.get(id);
      const layer = message && layerUsage(message);
      const figures = own ?? (message && reportedUsageStats(id, message, at, this.#rates));
      return figures ? [[id, { ...figures, ...(layer && { layer }) }] as const] : [];
    });
    return { ...reading, containers: new Map(merged) };
  }

  /** Empty if the runtime does not answer. */
  async #containerMessages(signal: AbortSignal): Promise<readonly ContainerStats[]> {
    const { runtime, log } = this.#deps;
    try {
      const { stats } = await abortable(runtime.listContainerStats({ filter: undefined }, signal), signal);
      this.#keepLayers(stats);
      return stats;
    } catch (error) {
      log.warn('cannot list the statistics of containers', { error });
      return [];
    }
  }

  #keepLayers(messages: readonly ContainerStats[]): void {
    this.#layersAtMs = this.#deps.clock.monotonic();
    this.#layers = new Map(
      messages.flatMap((message) => {
        const layer = layerUsage(message);
        return layer ? [[message.attributes?.id ?? '', layer] as const] : [];
      }),
    );
  }

  #now(): ReadingTime {
    const { clock } = this.#deps;
    return {
      time: formatNanoTime(BigInt(Math.trunc(clock.now())) * 1_000_000n),
      monotonicNs: BigInt(Math.trunc(clock.monotonic() * 1e6)),
    };
  }
}

function layerUsage({ writableLayer }: ContainerStats): LayerUsage | undefined {
  if (!writableLayer) return undefined;
  const { timestamp, fsId, usedBytes, inodesUsed } = writableLayer;
  return {
    time: formatNanoTime(timestamp),
    mountpoint: fsId?.mountpoint ?? '',
    ...optional('usedBytes', usedBytes?.value),
    ...optional('inodesUsed', inodesUsed?.value),
  };
}
