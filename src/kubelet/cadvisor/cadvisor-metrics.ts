import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { ImageService, RuntimeService } from '../../cri/services.ts';
import type { CgroupDetails, CgroupStats } from '../../host/cgroup-stats.ts';
import type { CgroupDriver } from '../../host/cgroups.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { processCgroup } from '../stats/process-cgroup.ts';
import type { RuntimeReader } from '../stats/runtime-reader.ts';
import { cgroupTexts, machineTexts, scrapeError, versionTexts } from './cadvisor-page.ts';
import { type CgroupOwner, cgroupOwners, isImageId, type PodCgroup } from './cgroup-owners.ts';
import { cgroupViews, limitedProcess } from './cgroup-views.ts';
import type { CriMetrics } from './cri-metrics.ts';
import { parseDiskStats } from './disk-counters.ts';
import { machineMounts, readFileSystems, readLayerFileSystems } from './file-systems.ts';
import { RuntimeImageNames, type ShownImages } from './image-names.ts';
import { type MachineInfo, readMachineInfo } from './machine-info.ts';
import { type MetricText, pageText } from './metrics-page.ts';
import { networkProcesses } from './network-processes.ts';

export interface CadvisorSettings {
  readonly rootDir: string;
  readonly memoryCapacityBytes: number;
  readonly cgroupDriver: CgroupDriver;
  /** The cgroup of all pods. */
  readonly podsCgroup: string;
  /** kubelet's `kubeletCgroups`; absent: the cgroup in which the agent runs. */
  readonly kubeletCgroup?: string | undefined;
  /** kubelet's `--runtime-cgroups` and `systemCgroups`; absent: there is no such cgroup. */
  readonly runtimeCgroup?: string | undefined;
  readonly systemCgroup?: string | undefined;
}

export interface CadvisorDeps {
  readonly observed: { readonly all: ReadonlyMap<string, ObservedPod> };
  /** The pod of a UID; `undefined` for a pod that no source knows. */
  readonly podOf: (uid: string) => Pod | undefined;
  readonly cgroupOf: (pod: Pod) => string;
  readonly cgroupStats: CgroupStats;
  readonly layers: Pick<RuntimeReader, 'layers'>;
  /** Present: metrics of pods are those of the runtime, and cgroups are not read. */
  readonly criMetrics?: Pick<CriMetrics, 'texts'> | undefined;
  readonly images: Pick<ImageService, 'listImages'>;
  readonly runtime: Pick<RuntimeService, 'podSandboxStatus'>;
  readonly fs: FileSystem;
  readonly mounts: Pick<Mounts, 'list'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The page `/metrics/cadvisor`, read when it is asked for.
 *
 * 1. The cgroups shown are those of kubelet: the root, that of all pods with everything below it, and those of the agent, the
 *    runtime and the system.
 * 2. A figure that the kernel does not give is left out, and so is a cgroup that ends meanwhile.
 * 3. The sizes of writable layers are as of the last reading, which goes on in the background.
 */
export class CadvisorMetrics {
  readonly #settings: CadvisorSettings;
  readonly #deps: CadvisorDeps;
  readonly #life: AbortSignal;
  readonly #names: RuntimeImageNames;
  #machine: MachineInfo | undefined;
  /** The creation of the cgroups of the last scrape. */
  #created: ReadonlyMap<string, number> = new Map();

  constructor(settings: CadvisorSettings, deps: CadvisorDeps, life: AbortSignal) {
    this.#settings = settings;
    this.#deps = deps;
    this.#life = life;
    this.#names = new RuntimeImageNames(deps);
  }

  /** Prometheus' text format. */
  async page(signal: AbortSignal): Promise<string> {
    const machine = await this.#machineInfo();
    const { criMetrics } = this.#deps;
    if (criMetrics) return pageText([...machineTexts(machine), ...(await criMetrics.texts(signal))]);
    const cgroups = await this.#cgroups(machine, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      this.#deps.log.warn('cannot read cgroups for /metrics/cadvisor', { error: errorText(error) });
      return scrapeError(1);
    });
    return pageText([...machineTexts(machine), ...versionTexts(machine), ...cgroups]);
  }

  async #machineInfo(): Promise<MachineInfo> {
    this.#machine ??= await readMachineInfo(this.#settings.memoryCapacityBytes, this.#deps.fs);
    return this.#machine;
  }

  async #cgroups({ view, bootSeconds }: MachineInfo, signal: AbortSignal): Promise<readonly MetricText[]> {
    const { cgroupStats, fs, mounts, clock, layers } = this.#deps;
    const { rootDir, cgroupDriver } = this.#settings;
    const created = await cgroupStats.tree(await this.#shownCgroups(), this.#created);
    this.#created = created;
    const figures = await cgroupStats.details([...new Set(['/', ...created.keys()])]);
    const timeMs = Math.trunc(clock.now());
    const owners = cgroupOwners(this.#podCgroups(), cgroupDriver);
    const networks = networkProcesses(owners, figures);
    const limited = [...figures].flatMap(([path, own]) => limitedProcess(path, owners.get(path), own) ?? []);
    const [names, openFiles, fileLimits, interfaces, table, diskStats] = await Promise.all([
      this.#names.of(shownImages(owners, figures), signal),
      cgroupStats.openFiles([...figures.values()].flatMap(({ processes }) => processes)),
      cgroupStats.fileLimits(limited),
      cgroupStats.interfaces([...new Set(networks.values())]),
      mounts.list(),
      fs.readText('/proc/diskstats').catch(() => ''),
    ]);
    const disks = parseDiskStats(diskStats);
    const [machineFileSystems, layerFileSystems] = await Promise.all([
      readFileSystems(machineMounts(table, rootDir), disks, fs),
      readLayerFileSystems(layers.layers(this.#life), table, fs),
    ]);
    const readings = {
      ...{ timeMs, created, figures, owners, names, openFiles, fileLimits, networks, interfaces },
      ...{ disks, machineFileSystems, layerFileSystems, machine: view, bootSeconds, version: cgroupStats.version },
    };
    return cgroupTexts(cgroupViews(readings), () => clock.sleep(0, this.#life));
  }

  /** The cgroups that are shown with everything below them. */
  async #shownCgroups(): Promise<readonly string[]> {
    const { podsCgroup, kubeletCgroup, runtimeCgroup, systemCgroup } = this.#settings;
    const all = [podsCgroup, kubeletCgroup ?? (await this.#ownCgroup()), runtimeCgroup, systemCgroup];
    return all.filter((path) => path !== undefined);
  }

  async #ownCgroup(): Promise<string | undefined> {
    const { fs, cgroupStats } = this.#deps;
    return processCgroup(await fs.readText('/proc/self/cgroup'), cgroupStats.version);
  }

  #podCgroups(): readonly PodCgroup[] {
    const { observed, podOf, cgroupOf } = this.#deps;
    return [...observed.all.values()].flatMap((pod) => {
      const known = podOf(pod.uid);
      return known ? [{ pod, cgroup: cgroupOf(known) }] : [];
    });
  }
}

/** The images of the containers and sandboxes that have a cgroup. */
function shownImages(
  owners: ReadonlyMap<string, CgroupOwner>,
  figures: ReadonlyMap<string, CgroupDetails>,
): ShownImages {
  const shown = [...owners].flatMap(([path, owner]) => (figures.has(path) ? [owner] : []));
  return {
    imageIds: new Set(
      shown.flatMap((owner) => (owner.kind === 'container' && isImageId(owner.imageId) ? [owner.imageId] : [])),
    ),
    sandboxIds: new Set(shown.flatMap((owner) => (owner.kind === 'sandbox' ? [owner.id] : []))),
  };
}
