import type { ContainerStats, NodeStats, RlimitStats, RuntimeStats } from '../../api/stats-summary.ts';
import { abortable } from '../../base/abortable.ts';
import { CpuRates } from '../../base/cpu-rates.ts';
import type { Log } from '../../base/log.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { ImageService } from '../../cri/services.ts';
import type { CgroupStats, CgroupUsage } from '../../host/cgroup-stats.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { parseNetDev } from '../../host/net-dev.ts';
import { processLimit } from '../node/signals/read-signals.ts';
import { diskStats, usageOnDisk } from './fs-stats.ts';
import { networkStats } from './network-stats.ts';
import { processCgroup } from './process-cgroup.ts';
import type { ReadingScope } from './runtime-reader.ts';
import { cgroupUsageStats, optional, type ReadingTime, type UsageStats } from './usage-stats.ts';

/** How long a reading waits for the runtime. */
const RUNTIME_MS = 5_000;

export interface NodeReaderSettings {
  readonly nodeName: string;
  readonly rootDir: string;
  readonly memoryCapacityBytes: number;
  /** The cgroup of all pods. */
  readonly podsCgroup: string;
  /** kubelet's `--runtime-cgroups` and `systemCgroups`; absent: there is no such cgroup. */
  readonly runtimeCgroup?: string | undefined;
  readonly systemCgroup?: string | undefined;
}

export interface NodeReaderDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'usage'>;
  readonly cgroupStats: Pick<CgroupStats, 'usage' | 'version'>;
  readonly images: Pick<ImageService, 'imageFsInfo'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A cgroup that kubelet shows as a system container. */
interface SystemContainer {
  readonly name: 'kubelet' | 'runtime' | 'misc' | 'pods';
  readonly path: string;
}

/** Reads the usage of the node and of its system containers. What cannot be read is missing. */
export class NodeReader {
  readonly #settings: NodeReaderSettings;
  readonly #deps: NodeReaderDeps;
  readonly #rates = new CpuRates();
  readonly #createdTime: string;
  #bootTime: string | undefined;

  constructor(settings: NodeReaderSettings, deps: NodeReaderDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#createdTime = wallTime(deps.clock);
  }

  async read(scope: ReadingScope, signal: AbortSignal): Promise<NodeStats> {
    const { clock, cgroupStats } = this.#deps;
    const { nodeName } = this.#settings;
    const [containers, startTime, swapBytes] = await Promise.all([
      this.#systemContainers(),
      this.#startTime(),
      this.#swapCapacity(),
    ]);
    const usage = await cgroupStats.usage(['/', ...containers.map(({ path }) => path)]);
    const at = { time: wallTime(clock), monotonicNs: BigInt(Math.trunc(clock.monotonic() * 1e6)) };
    const machine = usage.get('/');
    const { cpu, memory, io, swap } = machine ? this.#machineUsage(machine, swapBytes, at) : {};
    const more = scope === 'all' ? await this.#more(at, signal) : undefined;
    return {
      nodeName,
      systemContainers: containers.flatMap((each) => this.#systemContainer(each, startTime, usage, scope, at)),
      startTime,
      ...(cpu && { cpu }),
      ...(memory && { memory }),
      ...(more && io && { io }),
      ...more,
      ...(swap && { swap }),
    };
  }

  /** The limit of the root cgroup is the capacity of the machine. */
  #machineUsage(usage: CgroupUsage, swapBytes: number | undefined, at: ReadingTime): UsageStats {
    const limitBytes = this.#settings.memoryCapacityBytes;
    const swap = usage.swap && { ...usage.swap, ...(swapBytes !== undefined && { limitBytes: swapBytes }) };
    const limited = { ...usage, memory: { ...usage.memory, limitBytes }, ...(swap && { swap }) };
    return cgroupUsageStats('/', limited, at, this.#rates);
  }

  #systemContainer(
    { name, path }: SystemContainer,
    bootTime: string,
    usage: ReadonlyMap<string, CgroupUsage>,
    scope: ReadingScope,
    at: ReadingTime,
  ): readonly ContainerStats[] {
    const used = usage.get(path);
    if (!used) return [];
    const { cpu, memory, io, swap } = cgroupUsageStats(name, used, at, this.#rates);
    return [
      {
        name,
        startTime: name === 'kubelet' ? this.#createdTime : bootTime,
        ...(cpu && { cpu }),
        ...(memory && { memory }),
        ...(scope === 'all' && io && { io }),
        ...(swap && { swap }),
      },
    ];
  }

  async #more(at: ReadingTime, signal: AbortSignal): Promise<Pick<NodeStats, 'network' | 'fs' | 'runtime' | 'rlimit'>> {
    const { fs } = this.#deps;
    const { time } = at;
    const [network, disk, runtime, rlimit] = await Promise.all([
      this.#part('network', async () => networkStats(time, parseNetDev(await fs.readText('/proc/net/dev')))),
      this.#part('file system', async () => diskStats(time, await fs.usage(this.#settings.rootDir))),
      this.#part('image file system', () => this.#runtime(signal)),
      this.#part('processes', () => this.#rlimit(time)),
    ]);
    return {
      ...(network && { network }),
      ...(disk && { fs: disk }),
      ...(runtime && { runtime }),
      ...(rlimit && { rlimit }),
    };
  }

  /** As kubelet, one file system for images and containers: the first one of images that the runtime reports. */
  async #runtime(signal: AbortSignal): Promise<RuntimeStats> {
    const { images, fs, clock } = this.#deps;
    const limited = AbortSignal.any([signal, clock.deadline(RUNTIME_MS)]);
    const [first] = (await abortable(images.imageFsInfo({}, limited), limited)).imageFilesystems;
    if (!first) throw new Error('imageFs information is unavailable');
    const disk = await fs.usage(first.fsId?.mountpoint ?? '').catch(() => undefined);
    const measured = {
      time: formatNanoTime(first.timestamp),
      ...optional('usedBytes', first.usedBytes?.value),
      ...optional('inodesUsed', first.inodesUsed?.value),
    };
    const imageFs = usageOnDisk(measured, disk);
    return { imageFs, containerFs: imageFs };
  }

  async #rlimit(time: string): Promise<RlimitStats> {
    const { fs } = this.#deps;
    const [maxpid, load] = await Promise.all([processLimit(fs), fs.readText('/proc/loadavg')]);
    const curproc = Number(/^\S+ \S+ \S+ \d+\/(\d+) /.exec(load)?.[1]);
    return {
      time,
      ...(!Number.isNaN(maxpid) && { maxpid }),
      ...(!Number.isNaN(curproc) && { curproc }),
    };
  }

  async #systemContainers(): Promise<readonly SystemContainer[]> {
    const { fs, cgroupStats } = this.#deps;
    const { runtimeCgroup: runtime, systemCgroup: misc, podsCgroup: pods } = this.#settings;
    const file = await this.#part('cgroup of the agent', () => fs.readText('/proc/self/cgroup'));
    const kubelet = file === undefined ? undefined : processCgroup(file, cgroupStats.version);
    const container = (name: SystemContainer['name'], path: string | undefined): readonly SystemContainer[] =>
      path ? [{ name, path }] : [];
    return [
      ...container('kubelet', kubelet),
      ...container('runtime', runtime),
      ...container('misc', misc),
      ...container('pods', pods),
    ];
  }

  async #startTime(): Promise<string> {
    this.#bootTime ??= await this.#part('boot time', async () => {
      const seconds = /^btime (\d+)$/m.exec(await this.#deps.fs.readText('/proc/stat'))?.[1];
      return seconds === undefined ? undefined : formatNanoTime(BigInt(seconds) * 1_000_000_000n);
    });
    return this.#bootTime ?? this.#createdTime;
  }

  async #swapCapacity(): Promise<number | undefined> {
    return this.#part('swap', async () => {
      const kibibytes = /^SwapTotal:\s*(\d+) kB$/m.exec(await this.#deps.fs.readText('/proc/meminfo'))?.[1];
      return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
    });
  }

  async #part<T>(name: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.#deps.log.warn('cannot read the statistics of the node', { part: name, error });
      return undefined;
    }
  }
}

function wallTime(clock: Pick<Clock, 'now'>): string {
  return formatNanoTime(BigInt(Math.trunc(clock.now())) * 1_000_000n);
}
