import type { Image } from '../../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../../cri/services.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { NodePressure } from '../../eviction/node-pressure.ts';
import { type AddressDeps, AddressReader } from '../addresses/read-addresses.ts';
import type { NodeSettings } from '../node-settings.ts';
import type { StorageReadiness } from '../storage-readiness.ts';
import type { NodeInputs } from './compose-node.ts';
import { type MachineIdentity, readMachineIdentity } from './machine-identity.ts';
import { type MachineSize, readMachineResources } from './machine-resources.ts';
import { nodeImages } from './node-images.ts';
import type { DeviceCounts } from './node-resources.ts';
import type { RuntimeReadiness } from './runtime-readiness.ts';

/** kubelet's cache time of the image list. */
const IMAGES_MS = 30_000;

export interface GatherDeps extends AddressDeps {
  readonly fs: FileSystem;
  readonly images: Pick<Cri['images'], 'listImages'>;
  readonly pressure: Pick<NodePressure, 'known'>;
  readonly readiness: Pick<RuntimeReadiness, 'runtime' | 'notReadyReasons'>;
  readonly storage: Pick<StorageReadiness, 'notReadyReason'>;
  /** The devices of plugins; absent: none. */
  readonly deviceCounts?: (() => DeviceCounts) | undefined;
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
  #hasFolder = false;

  constructor(settings: NodeSettings, size: MachineSize, deps: GatherDeps) {
    this.#settings = settings;
    this.#size = size;
    this.#deps = deps;
    this.#addresses = new AddressReader(settings, deps);
  }

  async identity(): Promise<MachineIdentity> {
    this.#identity ??= await readMachineIdentity(this.#deps.fs);
    return this.#identity;
  }

  async gather(signal: AbortSignal): Promise<NodeInputs> {
    const { clock, readiness, storage, pressure, deviceCounts, shutdown } = this.#deps;
    await this.#makeFolder();
    const [identity, machine, addresses, images, conditions] = await Promise.all([
      this.identity(),
      readMachineResources(this.#size, this.#settings.rootDir, this.#deps.fs),
      this.#addresses.read(signal),
      this.#imageList(signal),
      pressure.known(signal),
    ]);
    return {
      identity,
      machine,
      addresses,
      images: nodeImages(images, this.#settings.maxImages),
      pressure: conditions,
      devices: deviceCounts?.(),
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
}
