import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import type { TreeUsage } from '../../host/tree.ts';
import { type AppliedLayer, applyLayer } from './apply-layer.ts';
import { hexOf } from './digest.ts';
import { frameFile, type LayerFrame, rebuildLayer, replacedContentsFile } from './layer-frame.ts';
import type { StorageLayout } from './storage-layout.ts';
import type { Trash } from './trash.ts';
import type { WhiteoutFormat, Whiteouts } from './unpack-layer.ts';

/** A layer of an image to be added to the store. */
export interface IncomingLayer {
  /** Digest of the bytes of `open`; absent: the source as a whole was verified. */
  readonly digest?: string;
  /**
   * The registry, if it comes from one. Layers of one registry wait for each other instead of being received twice; a slow
   * registry does not delay the same layer of another one.
   */
  readonly registry?: string;
  /** Returns a tar archive: gzip, zstd or plain. May be called again after a failure. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Called instead of `open` if the layer exists already. */
  onPresent?(): void;
  /**
   * Called after a failed attempt, which left nothing behind. Returns if another attempt may succeed, else throws the
   * reason.
   */
  onFailed?(error: unknown): void;
}

export interface LayerStack {
  readonly diffId: string;
  readonly chainId: string;
  /** Chain IDs of the layers below, lowest first. */
  readonly below: readonly string[];
  /** Settles when these are stored or have failed. */
  readonly belowReady: Promise<unknown>;
}

/** The metadata of a layer on disk, beside its directory. */
export interface LayerFile extends Whiteouts {
  readonly diffId: string;
  readonly usage: TreeUsage;
  /** Absent: its archive cannot be rebuilt. */
  readonly frame?: LayerFrame;
}

export interface LayerStoreDeps {
  readonly fs: FileSystem;
  readonly random: Random;
  readonly layout: StorageLayout;
  readonly whiteoutFormat: WhiteoutFormat;
  readonly trash: Trash;
}

/**
 * The unpacked layers. A layer is stored completely or not at all: it is unpacked elsewhere, verified against its diff
 * ID, and renamed. Has a single owner.
 */
export class LayerStore {
  readonly #deps: LayerStoreDeps;
  /** By the hex part of the chain ID; the disk usage if it is known. */
  readonly #present: Map<string, TreeUsage | undefined>;
  /** By the hex part of the chain ID: serializes changes of what is stored. */
  readonly #mutex = new KeyedMutex();
  readonly #transfers = new KeyedMutex();

  constructor(deps: LayerStoreDeps, present: Iterable<string>) {
    this.#deps = deps;
    this.#present = new Map(Iterator.from(present).map((hex) => [hex, undefined]));
  }

  has(chainId: string): boolean {
    return this.#present.has(hexOf(chainId));
  }

  folder(chainId: string): string {
    return `${this.#deps.layout.layers}/${hexOf(chainId)}`;
  }

  /** Hex parts of the chain IDs of all stored layers. */
  all(): readonly string[] {
    return [...this.#present.keys()];
  }

  /** Disk usage of all layers, as of when they were unpacked. */
  usage(): TreeUsage {
    let [bytes, inodes] = [0, 0];
    for (const usage of this.#present.values()) {
      bytes += usage?.bytes ?? 0;
      inodes += usage?.inodes ?? 0;
    }
    return { bytes, inodes };
  }

  /** Sets the usage that another record contains. */
  setUsage(chainId: string, { bytes, inodes }: TreeUsage): void {
    if (this.has(chainId)) this.#present.set(hexOf(chainId), { bytes, inodes });
  }

  /** Reads missing usages from disk: layers of containers whose image was removed. */
  async loadMissingUsage(): Promise<void> {
    for (const [hex, usage] of this.#present) {
      if (usage === undefined) this.setUsage(`sha256:${hex}`, (await this.describe(`sha256:${hex}`)).usage);
    }
  }

  /** Takes the hex part of the chain ID. */
  async storedAtMs(hex: string): Promise<number> {
    return (await this.#deps.fs.lstat(`${this.#deps.layout.layers}/${hex}.json`))?.modifiedMs ?? 0;
  }

  async describe(chainId: string): Promise<LayerFile> {
    return JSON.parse(await this.#deps.fs.readText(`${this.folder(chainId)}.json`)) as LayerFile; // written by `#commit`
  }

  /**
   * Rebuilds the original archive before compression, byte for byte. Throws `DigestError` at the end if its files were
   * modified. The layer must be held meanwhile.
   */
  archive(chainId: string, { diffId, frame }: LayerFile, signal: AbortSignal): AsyncIterable<Uint8Array> {
    if (frame === undefined) throw new Error(`layer ${chainId} has no frame`);
    return rebuildLayer(this.#deps.fs, { folder: this.folder(chainId), diffId, frame }, signal);
  }

  /** Adds a layer unless it exists. Serialized for each layer and registry. */
  ensure(stack: LayerStack, layer: IncomingLayer, signal: AbortSignal): Promise<void> {
    return this.#transfers.run(`${hexOf(stack.chainId)} ${layer.registry ?? ''}`, async () => {
      if (this.has(stack.chainId)) layer.onPresent?.();
      while (!this.has(stack.chainId)) await this.#tryToAdd(stack, layer, signal);
    });
  }

  /** Removes a layer by the hex part of its chain ID, unless it is needed when the removal starts. */
  remove(hex: string, isNeeded: () => boolean): Promise<void> {
    return this.#mutex.run(hex, async () => {
      const usage = this.#present.get(hex);
      if (isNeeded() || !this.#present.delete(hex)) return;
      const { fs, layout, trash } = this.#deps;
      const folder = `${layout.layers}/${hex}`;
      await trash.discard(folder).catch((error: unknown) => {
        this.#present.set(hex, usage);
        throw error;
      });
      for (const file of filesBeside(folder)) await fs.remove(file);
    });
  }

  /** Removes files without a layer. They are created before the layer is renamed into place and removed after it. */
  async sweepFiles(): Promise<void> {
    const { fs, layout } = this.#deps;
    for (const { name } of await fs.readDirectory(layout.layers)) {
      const hex = /^\.?([0-9a-f]+)\.(?:json|tar-frame|tar-kept)(?:\.tmp)?$/.exec(name)?.[1];
      if (hex === undefined) continue;
      await this.#mutex.run(hex, async () => {
        if (!this.#present.has(hex)) await fs.remove(`${layout.layers}/${name}`);
      });
    }
  }

  /** Returns a path for something incomplete. */
  #unfinished(): string {
    return `${this.#deps.layout.unfinished}/${Buffer.from(this.#deps.random.bytes(8)).toString('hex')}`;
  }

  async #tryToAdd(stack: LayerStack, layer: IncomingLayer, signal: AbortSignal): Promise<void> {
    try {
      await this.#add(stack, layer, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!layer.onFailed) throw error;
      layer.onFailed(error);
    }
  }

  async #add(stack: LayerStack, layer: IncomingLayer, signal: AbortSignal): Promise<void> {
    const { fs } = this.#deps;
    await fs.makeDirectory(this.#deps.layout.unfinished, 0o700); // omitted at start-up when the disk was full
    const folder = this.#unfinished();
    await fs.makeDirectory(folder, 0o755);
    try {
      const { diffId, belowReady } = stack;
      const foldersBelow = stack.below.map((id) => this.folder(id));
      const coming = { diffId, archive: layer, foldersBelow, belowReady };
      const unpacked = await applyLayer(this.#deps, folder, coming, signal);
      await this.#mutex.run(hexOf(stack.chainId), () => this.#commit(folder, stack, unpacked, signal));
    } catch (error) {
      for (const file of filesBeside(folder)) await fs.remove(file);
      await fs.removeTree(folder);
      throw error;
    }
  }

  /** Runs while no other change of the layer does. Another transfer may have stored the layer before. */
  async #commit(folder: string, stack: LayerStack, unpacked: AppliedLayer, signal: AbortSignal): Promise<void> {
    const { fs } = this.#deps;
    if (this.has(stack.chainId)) {
      for (const file of filesBeside(folder)) await fs.remove(file);
      await fs.removeTree(folder);
      return;
    }
    const target = this.folder(stack.chainId);
    try {
      const usage = await this.#moveIntoPlace(folder, target, stack.diffId, unpacked, signal);
      this.#present.set(hexOf(stack.chainId), usage);
    } catch (error) {
      for (const file of filesBeside(target)) await fs.remove(file);
      throw error;
    }
  }

  async #moveIntoPlace(
    folder: string,
    target: string,
    diffId: string,
    { removed, opaque, frame }: AppliedLayer,
    signal: AbortSignal,
  ): Promise<TreeUsage> {
    const { fs } = this.#deps;
    const beside = await this.#commitFrame(folder, target, frame);
    const { bytes, inodes } = await fs.treeUsage(folder, signal);
    const usage = { bytes: bytes + beside.bytes, inodes: inodes + beside.inodes };
    const file: LayerFile = { diffId, usage, removed, opaque, ...(frame ? { frame } : {}) };
    await fs.writeAtomic(`${target}.json`, JSON.stringify(file)); // synced to disk, as the layer itself
    await fs.rename(folder, target);
    return usage;
  }

  async #commitFrame(folder: string, target: string, frame: LayerFrame | undefined): Promise<TreeUsage> {
    const { fs } = this.#deps;
    const usage = { bytes: 0, inodes: 0 };
    for (const file of frame ? [frameFile(folder), replacedContentsFile(folder)] : []) {
      const found = await fs.lstat(file);
      if (found === undefined) continue; // most layers have no replaced contents
      usage.bytes += found.size;
      usage.inodes += 1;
      await fs.rename(file, `${target}${file.slice(folder.length)}`);
    }
    return usage;
  }
}

function filesBeside(folder: string): readonly string[] {
  return [frameFile(folder), replacedContentsFile(folder), `${folder}.json`];
}
