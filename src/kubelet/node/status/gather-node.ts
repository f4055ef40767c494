import type { Image } from '../../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../../cri/services.ts';
import type { CgroupStats } from '../../../host/cgroup-stats.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import { type AddressDeps, AddressReader } from '../addresses/read-addresses.ts';
import type { NodeSettings } from '../node-settings.ts';
import {
  NO_PRESSURE,
  nextPressure,
  type PressureCondition,
  withAllocatableThresholds,
} from '../signals/node-pressure.ts';
import { readSignals } from '../signals/read-signals.ts';
import type { StorageReadiness } from '../storage-readiness.ts';
import type { NodeInputs } from './compose-node.ts';
import { type MachineIdentity, readMachineIdentity } from './machine-identity.ts';
import { type MachineSize, readMachineResources } from './machine-resources.ts';
import { nodeImages } from './node-images.ts';
import { enforcedAmounts, type MachineResources } from './node-resources.ts';
import type { RuntimeReadiness } from './runtime-readiness.ts';

/** kubelet's cache time of the image list. */
const IMAGES_MS = 30_000;

export interface GatherDeps extends AddressDeps {
  readonly fs: FileSystem;
  readonly cgroupStats: CgroupStats;
  readonly images: Pick<Cri['images'], 'listImages' | 'imageFsInfo'>;
  readonly readiness: Pick<RuntimeReadiness, 'runtime' | 'notReadyReasons'>;
  readonly storage: Pick<StorageReadiness, 'notReadyReason'>;
  /** Absent: shutdowns of the machine are not observed. */
  readonly shutdown?: Pick<StorageReadiness, 'notReadyReason'>;
}

/** Reads the inputs of the node object. Calls must not overlap. */
export class NodeGatherer {
  readonly #settings: NodeSettings;
  readonly #size: MachineSize;
  readonly #deps: GatherDeps;
  readonly #addresses: AddressReader;
  #identity: MachineIdentity | undefined;
  #images: { readonly list: readonly Image[]; readonly atMs: number } | undefined;
  #imageFsPath: string | undefined;
  #pressure = NO_PRESSURE;
  #hasFolder = false;

  constructor(settings: NodeSettings, size: MachineSize, deps: GatherDeps) {
    this.#settings = { ...settings, thresholds: withAllocatableThresholds(settings.thresholds, settings.enforcesPods) };
    this.#size = size;
    this.#deps = deps;
    this.#addresses = new AddressReader(settings, deps);
  }

  async identity(): Promise<MachineIdentity> {
    this.#identity ??= await readMachineIdentity(this.#deps.fs);
    return this.#identity;
  }

  async gather(signal: AbortSignal): Promise<NodeInputs> {
    const { clock, readiness, storage, shutdown } = this.#deps;
    await this.#makeFolder();
    const [identity, machine, addresses, images] = await Promise.all([
      this.identity(),
      readMachineResources(this.#size, this.#settings.rootDir, this.#deps.fs),
      this.#addresses.read(signal),
      this.#imageList(signal),
    ]);
    const pressure = await this.#readPressure(machine, signal);
    return {
      identity,
      machine,
      addresses,
      images: nodeImages(images, this.#settings.maxImages),
      pressure,
      runtime: readiness.runtime,
      notReadyReasons: [...readiness.notReadyReasons(), storage.notReadyReason(), shutdown?.notReadyReason()].filter(
        (each) => each !== undefined,
      ),
      nowMs: clock.now(),
    };
  }

  /** The file system of the agent's directory is the node's. */
  async #makeFolder(): Promise<void> {
    if (this.#hasFolder) return;
    await this.#deps.fs.makeDirectory(this.#settings.rootDir, 0o750);
    this.#hasFolder = true;
  }

  /** If the runtime does not respond, the last list is used. */
  async #imageList(signal: AbortSignal): Promise<readonly Image[]> {
    const { clock, images } = this.#deps;
    const nowMs = clock.monotonic();
    if (this.#images && nowMs - this.#images.atMs < IMAGES_MS) return this.#images.list;
    const answer = await images.listImages({ filter: undefined }, signal).catch(() => undefined);
    if (answer) this.#images = { list: answer.images, atMs: nowMs };
    return this.#images?.list ?? [];
  }

  async #readPressure(machine: MachineResources, signal: AbortSignal): Promise<ReadonlySet<PressureCondition>> {
    const { fs, cgroupStats, clock } = this.#deps;
    const { thresholds, pressureTransitionMs: transitionMs, rootDir, podsCgroup } = this.#settings;
    if (thresholds.length === 0) return this.#pressure.conditions;
    const podsMemoryBytes = Number(enforcedAmounts(machine, this.#settings).get('memory')?.value() ?? 0n);
    const places = { memoryBytes: machine.memoryBytes, rootDir, podsCgroup, podsMemoryBytes };
    const readings = await readSignals(places, { fs, cgroupStats, imageFsPath: () => this.#readImageFsPath(signal) });
    this.#pressure = nextPressure(this.#pressure, readings, { thresholds, transitionMs, nowMs: clock.monotonic() });
    return this.#pressure.conditions;
  }

  /** The path does not change, so it is read once. */
  async #readImageFsPath(signal: AbortSignal): Promise<string | undefined> {
    if (this.#imageFsPath === undefined) {
      const { imageFilesystems } = await this.#deps.images.imageFsInfo({}, signal);
      this.#imageFsPath = imageFilesystems[0]?.fsId?.mountpoint;
    }
    return this.#imageFsPath;
  }
}
