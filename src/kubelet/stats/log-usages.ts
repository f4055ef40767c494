import { abortable } from '../../base/abortable.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { hostsFilePath } from '../pod/pod-paths.ts';
import { type MeasuredUsage, sumOfUsages } from './fs-stats.ts';

/** A measurement stays valid at least this long; kubelet measures every ten seconds. */
const FRESH_MS = 10_000;
/** Measuring takes at most 1/20 of the time. */
const REST_FACTOR = 20;
/** How long `measured` waits for pods that were never measured. */
const FIRST_MS = 1_000;

export interface LogTarget {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Names of its containers. */
  readonly containers: readonly string[];
}

/** The files that the agent and the runtime keep for a pod on the node's disk. */
export interface PodFiles {
  /** Logs by the name of the container, with rotated ones. A container without a folder of logs is missing. */
  readonly logs: ReadonlyMap<string, MeasuredUsage>;
  /** Files in the pod's folder of logs, and its /etc/hosts. */
  readonly others: MeasuredUsage;
}

export interface LogUsagesDeps {
  readonly fs: Pick<FileSystem, 'readDirectory' | 'treeUsage'>;
  readonly clock: Clock;
  readonly rootDir: string;
  readonly podLogsDir: string;
}

/**
 * Measures the log files of pods in the background and keeps the last results: one pod at a time, and none again before
 * its result is old. Nothing is measured unless it is asked for.
 */
export class LogUsages {
  readonly #deps: LogUsagesDeps;
  readonly #life: AbortSignal;
  readonly #pods = new Map<string, PodFiles>();
  #round: Promise<void> | undefined;
  /** Monotonic milliseconds. */
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(deps: LogUsagesDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  /** The last results by pod UID. Starts a round for these pods if the results are old; does not wait for it. */
  latest(targets: readonly LogTarget[]): ReadonlyMap<string, PodFiles> {
    const isNew = targets.some(({ uid }) => !this.#pods.has(uid));
    if (!this.#round && (isNew || this.#deps.clock.monotonic() >= this.#nextMs)) {
      this.#round = this.#measureAll(targets).finally(() => {
        this.#round = undefined;
      });
    }
    return this.#pods;
  }

  /** The same; waits a bounded time for pods that were never measured. */
  async measured(targets: readonly LogTarget[], signal: AbortSignal): Promise<ReadonlyMap<string, PodFiles>> {
    this.latest(targets);
    if (this.#round && targets.some(({ uid }) => !this.#pods.has(uid))) {
      const limited = AbortSignal.any([signal, this.#deps.clock.deadline(FIRST_MS)]);
      await abortable(this.#round, limited).catch(() => undefined);
    }
    return this.#pods;
  }

  /** Measures these pods anew, after a round that is in progress. */
  async measureNow(targets: readonly LogTarget[], signal: AbortSignal): Promise<ReadonlyMap<string, PodFiles>> {
    await abortable(this.#round ?? Promise.resolve(), signal);
    this.#nextMs = Number.NEGATIVE_INFINITY;
    this.latest(targets);
    await abortable(this.#round ?? Promise.resolve(), signal);
    return this.#pods;
  }

  async #measureAll(targets: readonly LogTarget[]): Promise<void> {
    const { clock } = this.#deps;
    const startedMs = clock.monotonic();
    const isDue = startedMs >= this.#nextMs;
    const uids = new Set(targets.map(({ uid }) => uid));
    for (const uid of this.#pods.keys()) if (!uids.has(uid)) this.#pods.delete(uid);
    for (const target of targets) {
      if (this.#life.aborted) return;
      if (!isDue && this.#pods.has(target.uid)) continue;
      const files = await this.#measure(target).catch(() => undefined);
      if (files) this.#pods.set(target.uid, files);
    }
    const endedMs = clock.monotonic();
    if (isDue) this.#nextMs = endedMs + Math.max(FRESH_MS, REST_FACTOR * (endedMs - startedMs));
  }

  async #measure({ uid, name, namespace, containers }: LogTarget): Promise<PodFiles> {
    const { rootDir, podLogsDir } = this.#deps;
    const folder = `${podLogsDir}/${namespace}_${name}_${uid}`;
    const logs = new Map<string, MeasuredUsage>();
    for (const container of containers) {
      const files = await this.#filesIn(`${folder}/${container}`);
      if (files) logs.set(container, await this.#usageOf(files));
    }
    const own = (await this.#filesIn(folder)) ?? [];
    return { logs, others: await this.#usageOf([...own, hostsFilePath(rootDir, uid)]) };
  }

  /** Without folders; `undefined` if the folder does not exist. */
  async #filesIn(folder: string): Promise<readonly string[] | undefined> {
    try {
      const entries = await this.#deps.fs.readDirectory(folder);
      return entries.flatMap(({ name, kind }) => (kind === 'directory' ? [] : [`${folder}/${name}`]));
    } catch (error) {
      if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #usageOf(files: readonly string[]): Promise<MeasuredUsage> {
    const time = formatNanoTime(BigInt(Math.trunc(this.#deps.clock.now())) * 1_000_000n);
    const parts: MeasuredUsage[] = [{ time, usedBytes: 0, inodesUsed: 0 }];
    for (const file of files) {
      const { bytes, inodes } = await this.#deps.fs.treeUsage(file, this.#life);
      parts.push({ time, usedBytes: bytes, inodesUsed: inodes });
    }
    return sumOfUsages(time, parts);
  }
}
