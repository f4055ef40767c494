import { abortable } from '../../base/abortable.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ProjectUsage } from '../../host/project-quotas.ts';
import type { Random } from '../../host/random.ts';
import { LOCAL_PROVISIONER, PROVISIONED_BY } from '../objects/pod-claims.ts';
import type { VolumeSpec } from './volume-spec.ts';

/** The time for one volume: a driver may not answer, a tree may be very large. */
const MEASURE_MS = 120_000;
/** Measuring goes on this many periods after the usages were last asked for. */
const IDLE_PERIODS = 5;

/** The usage of a volume. Capacity and free space are those of the file system that it is on. */
export interface VolumeUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
  /** Wall-clock milliseconds since 1970. */
  readonly measuredMs: number;
}

/** A volume that is mounted for a pod. */
export interface MeasurableVolume {
  /** In the pod's spec. */
  readonly name: string;
  readonly spec: VolumeSpec;
  /** On the host. */
  readonly path: string;
  /** As in `HostVolume`: rejects if system calls on its files would not return. */
  readonly checkResponse?: (signal: AbortSignal) => Promise<void>;
}

/**
 * How the usage of a volume is measured, as in kubelet: by the driver; by its file system, which it has for itself; by
 * its tree; or not at all.
 */
export type UsageMethod = 'driver' | 'fileSystem' | 'tree' | 'none';

export function usageMethod({ volume, bound, mode }: VolumeSpec): UsageMethod {
  const persistent = bound?.volume.spec;
  if (volume.csi ?? persistent?.csi) return 'driver';
  if (mode === 'Block') return 'none';
  if (volume.nfs ?? volume.iscsi ?? volume.fc) return 'fileSystem';
  if (persistent?.local ?? persistent?.nfs ?? persistent?.iscsi ?? persistent?.fc) return 'fileSystem';
  const { emptyDir, configMap, secret, downwardAPI, projected } = volume;
  if (emptyDir ?? configMap ?? secret ?? downwardAPI ?? projected) return 'tree';
  // kubelet does not measure paths of the host; the directory of a claim is one that no other program uses.
  const isDirectoryOfClaim = bound?.volume.metadata.annotations?.[PROVISIONED_BY] === LOCAL_PROVISIONER;
  return isDirectoryOfClaim ? 'tree' : 'none';
}

export interface VolumeUsagesDeps {
  readonly fs: Pick<FileSystem, 'usage' | 'treeUsage'>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  /** kubelet's `volumeStatsAggPeriod`. */
  readonly periodMs: number;
  /** The volumes of all pods, by the UID of the pod. */
  volumes(): ReadonlyMap<string, readonly MeasurableVolume[]>;
  /** The usage as a CSI driver reports it; `undefined` if it reports none. Absent: there are no drivers. */
  readonly driverUsage?: (
    volume: MeasurableVolume,
    signal: AbortSignal,
  ) => Promise<Omit<VolumeUsage, 'measuredMs'> | undefined>;
  /** The usage of a directory as its file system counts it; `undefined` if it does not. Absent: no file system is asked. */
  readonly countedUsage?: ((path: string) => Promise<ProjectUsage | undefined>) | undefined;
  /** Called for a volume that cannot be measured. Its last usage stays. */
  onError(podUid: string, volume: string, error: unknown): void;
}

interface PodUsages {
  readonly usages: ReadonlyMap<string, VolumeUsage>;
  /** Monotonic milliseconds. */
  readonly dueMs: number;
}

/**
 * Measures the volumes of pods in the background and keeps the last results.
 *
 * 1. One volume is measured at a time, so that the disk is never read for several large trees at once.
 * 2. The volumes of a pod are measured again after one to two periods, at random, as in kubelet: trees are not read all
 *    at the same time.
 * 3. The usages of a pod that is gone are dropped.
 * 4. Nothing is measured while no component asks for usages.
 */
export class VolumeUsages {
  readonly #deps: VolumeUsagesDeps;
  readonly #pods = new Map<string, PodUsages>();
  readonly #turn = new Semaphore(1);
  /** Monotonic milliseconds of the last call of `latest`. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #onAsked: () => void = () => undefined;

  constructor(deps: VolumeUsagesDeps) {
    this.#deps = deps;
  }

  /** The last usages of a pod's volumes, by their names. Volumes that are not measured are missing. */
  latest(podUid: string): ReadonlyMap<string, VolumeUsage> {
    this.#askedMs = this.#deps.clock.monotonic();
    this.#onAsked();
    return this.#usagesOf(podUid);
  }

  #usagesOf(podUid: string): ReadonlyMap<string, VolumeUsage> {
    return this.#pods.get(podUid)?.usages ?? new Map();
  }

  /** Measures until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      await this.#untilAsked(signal).catch(() => undefined);
      await this.measureDue(signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      await clock.sleep(this.#waitMs(), signal).catch(() => undefined);
    }
  }

  /** Measures the volumes of the pods that are due, and of new pods. */
  async measureDue(signal: AbortSignal): Promise<void> {
    const isDue = ({ dueMs }: PodUsages): boolean => dueMs <= this.#deps.clock.monotonic();
    await this.#turn.run(() => this.#measurePods(isDue, signal), signal);
  }

  /** Measures the volumes of all pods. */
  async measureNow(signal: AbortSignal): Promise<void> {
    await this.#turn.run(() => this.#measurePods(() => true, signal), signal);
  }

  async #measurePods(isDue: (before: PodUsages) => boolean, signal: AbortSignal): Promise<void> {
    const { clock, random, periodMs } = this.#deps;
    const pods = this.#deps.volumes();
    for (const uid of this.#pods.keys()) if (!pods.has(uid)) this.#pods.delete(uid);
    for (const [uid, volumes] of pods) {
      const before = this.#pods.get(uid);
      if (before && !isDue(before)) continue;
      const usages = await this.#measureAll(uid, volumes, signal);
      const dueMs = clock.monotonic() + periodMs * (1 + random.fraction());
      this.#pods.set(uid, { usages, dueMs });
    }
  }

  async #untilAsked(signal: AbortSignal): Promise<void> {
    const { clock, periodMs } = this.#deps;
    if (clock.monotonic() - this.#askedMs <= IDLE_PERIODS * periodMs) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onAsked = resolve;
    await abortable(promise, signal);
  }

  /** New pods are measured after a sixth of the period at the latest. */
  #waitMs(): number {
    const { clock, periodMs } = this.#deps;
    const next = Math.min(...[...this.#pods.values()].map(({ dueMs }) => dueMs - clock.monotonic()), periodMs / 6);
    return Math.max(next, 1);
  }

  async #measureAll(
    uid: string,
    volumes: readonly MeasurableVolume[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, VolumeUsage>> {
    const usages = new Map<string, VolumeUsage>();
    const before = this.#usagesOf(uid);
    for (const volume of volumes) {
      const limited = AbortSignal.any([signal, this.#deps.clock.deadline(MEASURE_MS)]);
      const usage = await this.#measure(volume, limited).catch((error: unknown) => {
        signal.throwIfAborted();
        this.#deps.onError(uid, volume.name, error);
        return before.get(volume.name);
      });
      if (usage) usages.set(volume.name, usage);
    }
    return usages;
  }

  async #measure(volume: MeasurableVolume, signal: AbortSignal): Promise<VolumeUsage | undefined> {
    const { fs, clock, driverUsage, countedUsage } = this.#deps;
    const method = usageMethod(volume.spec);
    if (method === 'none') return undefined;
    await volume.checkResponse?.(signal);
    const measuredMs = clock.now();
    if (method === 'driver') {
      const reported = await driverUsage?.(volume, signal);
      return reported && { ...reported, measuredMs };
    }
    const counted = method === 'tree' ? await countedUsage?.(volume.path) : undefined;
    const tree = counted ?? (method === 'tree' ? await fs.treeUsage(volume.path, signal) : undefined);
    const disk = await fs.usage(volume.path);
    return {
      capacityBytes: disk.capacityBytes,
      availableBytes: disk.availableBytes,
      usedBytes: tree?.bytes ?? disk.usedBytes,
      inodes: disk.inodes,
      inodesFree: disk.inodesFree,
      inodesUsed: tree?.inodes ?? disk.inodes - disk.inodesFree,
      measuredMs,
    };
  }
}
