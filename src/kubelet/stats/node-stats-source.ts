import type { Pod } from '../../api/generated/core-v1.ts';
import type { NodeStats, PodStats, Summary, VolumeStats } from '../../api/stats-summary.ts';
import { abortable } from '../../base/abortable.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import { TtlCache } from '../../base/ttl-cache.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem, FileSystemUsage } from '../../host/file-system.ts';
import { currentSandbox, type ObservedPod, runningContainers } from '../pod/observed-pod.ts';
import type { VolumeUsages } from '../volumes/volume-usage.ts';
import type { LogTarget, LogUsages, PodFiles } from './log-usages.ts';
import type { NodeReader } from './node-reader.ts';
import { type PodStorage, podStats, volumeStats } from './pod-stats.ts';
import type { LayerUsage, PodReading, RuntimeReader, StatsTarget } from './runtime-reader.ts';
import type { NodeStatistics } from './stats-source.ts';

/** Summaries of one kind that are requested within this time share one reading. */
const SHARED_MS = 1_000;
/** How long `measuredPods` waits for disks. */
const MEASURE_MS = 10_000;

export interface StatsSourceDeps {
  readonly observed: { readonly all: ReadonlyMap<string, ObservedPod> };
  /** The pod of a UID; `undefined` for a pod that no source knows. */
  readonly podOf: (uid: string) => Pod | undefined;
  /** The path of a pod's cgroup. */
  readonly cgroupOf: (pod: Pod) => string;
  readonly node: Pick<NodeReader, 'read'>;
  readonly reader: Pick<RuntimeReader, 'read' | 'layers'>;
  readonly logs: Pick<LogUsages, 'latest' | 'measured' | 'measureNow'>;
  readonly volumes: Pick<VolumeUsages, 'latest' | 'measureNow'>;
  readonly cadvisor: { page(signal: AbortSignal): Promise<string> };
  readonly fs: Pick<FileSystem, 'usage'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'deadline'>;
  readonly rootDir: string;
}

/**
 * The statistics of the node, read when they are asked for.
 *
 * 1. Callers at the same time share one reading; a caller that goes away does not end it.
 * 2. Every step has a deadline, so a reading ends even if the runtime or a disk hangs: what is missing was not read.
 * 3. A pod that ends meanwhile has the figures that were read of it, or is missing.
 */
export class NodeStatsSource implements NodeStatistics {
  readonly #deps: StatsSourceDeps;
  readonly #life: AbortSignal;
  readonly #summaries: TtlCache<Summary>;
  readonly #pods: TtlCache<readonly PodStats[]>;
  readonly #cadvisor: TtlCache<string>;

  constructor(deps: StatsSourceDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
    this.#summaries = new TtlCache(2, deps.clock, () => SHARED_MS);
    this.#pods = new TtlCache(1, deps.clock, () => 0);
    this.#cadvisor = new TtlCache(1, deps.clock, () => 0);
  }

  async summary({ onlyCpuAndMemory }: { readonly onlyCpuAndMemory: boolean }, signal: AbortSignal): Promise<Summary> {
    const reading = onlyCpuAndMemory
      ? this.#summaries.get('usage', () => this.#usageSummary())
      : this.#summaries.get('all', () => this.#wholeSummary());
    return abortable(reading, signal);
  }

  async pods(signal: AbortSignal): Promise<readonly PodStats[]> {
    return abortable(
      this.#pods.get('', () => this.#podsNow()),
      signal,
    );
  }

  async measuredPods(signal: AbortSignal): Promise<readonly PodStats[]> {
    const { reader, logs, volumes, clock } = this.#deps;
    const targets = this.#targets();
    const logTargets = targets.map(logTarget);
    const limited = AbortSignal.any([signal, this.#life, clock.deadline(MEASURE_MS)]);
    const [readings, files] = await Promise.all([
      reader.read(targets, 'all', this.#life),
      logs.measureNow(logTargets, limited).catch(() => logs.latest(logTargets)),
      volumes.measureNow(limited).catch(() => undefined),
    ]);
    signal.throwIfAborted();
    return this.#compose(targets, readings, await this.#storage(readings, files), undefined);
  }

  async cadvisorPage(signal: AbortSignal): Promise<string> {
    return abortable(
      this.#cadvisor.get('', () => this.#deps.cadvisor.page(this.#life)),
      signal,
    );
  }

  claims(): readonly VolumeStats[] {
    const { podOf, volumes } = this.#deps;
    return this.#targets().flatMap(({ pod: { uid } }) => {
      const pod = podOf(uid);
      return pod ? volumeStats(pod, volumes.latest(uid)).others.filter(({ pvcRef }) => pvcRef) : [];
    });
  }

  async #usageSummary(): Promise<Summary> {
    const targets = this.#targets();
    const [node, readings] = await Promise.all([
      this.#deps.node.read('usage', this.#life),
      this.#deps.reader.read(targets, 'usage', this.#life),
    ]);
    return { node, pods: this.#compose(targets, readings, undefined, undefined) };
  }

  async #wholeSummary(): Promise<Summary> {
    const { node, reader, logs } = this.#deps;
    const targets = this.#targets();
    const [ofNode, readings, files] = await Promise.all([
      node.read('all', this.#life),
      reader.read(targets, 'all', this.#life),
      logs.measured(targets.map(logTarget), this.#life),
    ]);
    const storage = await this.#storage(readings, files);
    return { node: ofNode, pods: this.#compose(targets, readings, storage, ofNode) };
  }

  /** Memory is read; disks are as of their last measurement, and measured again in the background. */
  async #podsNow(): Promise<readonly PodStats[]> {
    const { reader, logs } = this.#deps;
    const targets = this.#targets();
    const layers = reader.layers(this.#life);
    const files = logs.latest(targets.map(logTarget));
    const readings = await reader.read(targets, 'usage', this.#life);
    const storage = await this.#storage(readings, files, layers);
    return this.#compose(targets, readings, storage, undefined, layers);
  }

  /** The pods that have a running container. */
  #targets(): readonly StatsTarget[] {
    const { observed, podOf, cgroupOf } = this.#deps;
    return [...observed.all.values()].flatMap((pod) => {
      const sandbox = currentSandbox(pod);
      const containers = runningContainers(pod);
      if (!sandbox || containers.length === 0) return [];
      const known = podOf(pod.uid);
      return [{ pod, sandbox, containers, cgroup: known && cgroupOf(known) }];
    });
  }

  async #storage(
    readings: ReadonlyMap<string, PodReading>,
    files: ReadonlyMap<string, PodFiles>,
    layers: ReadonlyMap<string, LayerUsage> = new Map(),
  ): Promise<DiskFigures> {
    const { fs, rootDir } = this.#deps;
    const known = [...readings.values()].flatMap(({ containers }) => [...containers.values()]);
    const places = new Set(
      [...known.map(({ layer }) => layer), ...layers.values()].flatMap((layer) => layer?.mountpoint || []),
    );
    const layerDisks = new Map<string, FileSystemUsage>();
    for (const place of places) {
      const disk = await fs.usage(place).catch(() => undefined);
      if (disk) layerDisks.set(place, disk);
    }
    return { nodeDisk: await fs.usage(rootDir).catch(() => undefined), layerDisks, files };
  }

  #compose(
    targets: readonly StatsTarget[],
    readings: ReadonlyMap<string, PodReading>,
    disks: DiskFigures | undefined,
    node: NodeStats | undefined,
    layers: ReadonlyMap<string, LayerUsage> = new Map(),
  ): readonly PodStats[] {
    const { podOf, volumes, clock } = this.#deps;
    const time = formatNanoTime(BigInt(Math.trunc(clock.now())) * 1_000_000n);
    return targets.map((target) => {
      const { uid } = target.pod;
      const storage: PodStorage | undefined = disks && {
        ...disks,
        files: disks.files.get(uid),
        volumes: volumes.latest(uid),
      };
      const reading = readings.get(target.sandbox.id);
      return podStats({ target, pod: podOf(uid), reading, storage, hostNetwork: node?.network, layers, time });
    });
  }
}

interface DiskFigures extends Pick<PodStorage, 'nodeDisk' | 'layerDisks'> {
  readonly files: ReadonlyMap<string, PodFiles>;
}

function logTarget({ pod, containers }: StatsTarget): LogTarget {
  return { uid: pod.uid, name: pod.name, namespace: pod.namespace, containers: containers.map(({ name }) => name) };
}
