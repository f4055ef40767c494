import { Sequencer } from '../../base/sequencer.ts';
import type { FileStat, FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import type { TreeUsage, TreeWriter } from '../../host/tree.ts';
import { ByteReader } from '../images/archive/byte-reader.ts';
import { decompressed } from '../images/archive/decompress.ts';
import { readTar } from '../images/archive/read-tar.ts';
import { DigestChecker, hexOf } from '../images/digest.ts';
import type { StorageLayout } from './storage-layout.ts';
import { type LayerMarks, type MarkForm, type UnpackedLayer, unpackLayer } from './unpack-layer.ts';

/** A layer of an image as it comes. */
export interface IncomingLayer {
  /** Of the bytes as `open` gives them; absent: they come from a place that was checked as a whole. */
  readonly digest?: string;
  /** A tar archive, gzip, zstd or plain. May be asked again after a failure. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface LayerStack {
  readonly diffId: string;
  readonly chainId: string;
  /** Chain ids of the layers below, the lowest first. */
  readonly below: readonly string[];
  /** Settles when these are here, or will not be. */
  readonly belowReady: Promise<unknown>;
}

/** What is on disk of a layer, beside its folder. */
interface LayerFile extends LayerMarks {
  readonly diffId: string;
  readonly usage: TreeUsage;
}

export interface LayerStoreDeps {
  readonly fs: FileSystem;
  readonly random: Random;
  readonly layout: StorageLayout;
  readonly form: MarkForm;
}

/**
 * Unpacked layers. One is there as a whole or not at all: it is unpacked elsewhere, checked against its diff id, and
 * renamed. One owner.
 */
export class LayerStore {
  readonly #deps: LayerStoreDeps;
  readonly #present: Set<string>;
  readonly #sequencer = new Sequencer();

  constructor(deps: LayerStoreDeps, present: Iterable<string>) {
    this.#deps = deps;
    this.#present = new Set(present);
  }

  has(chainId: string): boolean {
    return this.#present.has(hexOf(chainId));
  }

  folder(chainId: string): string {
    return `${this.#deps.layout.layers}/${hexOf(chainId)}`;
  }

  /** Hex parts of the chain ids of all that are here. */
  all(): readonly string[] {
    return [...this.#present];
  }

  async describe(chainId: string): Promise<LayerFile> {
    return JSON.parse(await this.#deps.fs.readText(`${this.folder(chainId)}.json`)) as LayerFile; // written by `#place`
  }

  /** One at a time for each layer; one that is here already is not asked for. */
  ensure(stack: LayerStack, layer: IncomingLayer, signal: AbortSignal): Promise<void> {
    return this.#sequencer.run(hexOf(stack.chainId), async () => {
      if (!this.has(stack.chainId)) await this.#add(stack, layer, signal);
    });
  }

  /** By the hex part of its chain id, unless somebody needs it by the time of its turn. */
  remove(hex: string, isNeeded: () => boolean): Promise<void> {
    return this.#sequencer.run(hex, async () => {
      if (isNeeded() || !this.#present.delete(hex)) return;
      const { fs, layout } = this.#deps;
      const doomed = this.#unfinished();
      await fs.rename(`${layout.layers}/${hex}`, doomed);
      await fs.remove(`${layout.layers}/${hex}.json`);
      await fs.removeTree(doomed);
    });
  }

  /** The file of a layer is written before the layer gets its place, and goes after it: one alone is left over. */
  async sweepFiles(): Promise<void> {
    const { fs, layout } = this.#deps;
    for (const { name } of await fs.readDirectory(layout.layers)) {
      const hex = /^([0-9a-f]+)\.json$/.exec(name)?.[1];
      if (hex === undefined) continue;
      await this.#sequencer.run(hex, async () => {
        if (!this.#present.has(hex)) await fs.remove(`${layout.layers}/${name}`);
      });
    }
  }

  /** For something that is not to be seen before it is whole. */
  #unfinished(): string {
    return `${this.#deps.layout.unfinished}/${Buffer.from(this.#deps.random.bytes(8)).toString('hex')}`;
  }

  async #add(stack: LayerStack, layer: IncomingLayer, signal: AbortSignal): Promise<void> {
    const { fs } = this.#deps;
    const folder = this.#unfinished();
    await fs.makeDirectory(folder, 0o755);
    try {
      const unpacked = await this.#unpack(folder, stack, layer, signal);
      await this.#place(folder, stack, unpacked, signal);
    } catch (error) {
      await fs.removeTree(folder);
      throw error;
    }
  }

  async #unpack(folder: string, stack: LayerStack, layer: IncomingLayer, signal: AbortSignal): Promise<UnpackedLayer> {
    const coming = layer.digest === undefined ? undefined : new DigestChecker(layer.digest);
    const content = new DigestChecker(stack.diffId);
    const source = layer.open(signal);
    const bytes = new ByteReader(content.passing(decompressed(coming ? coming.passing(source) : source)));
    try {
      await using writer = await this.#deps.fs.writeTree(folder);
      const unpacked = await unpackLayer(readTar(bytes), writer, this.#deps.form, signal);
      await bytes.drain(); // the digest is of all that came, also behind the end mark
      coming?.verify('layer');
      content.verify('layer');
      await stack.belowReady;
      await this.#inherit(writer, unpacked, stack.below);
      await writer.finish({ toDisk: true });
      return unpacked;
    } finally {
      await bytes.close();
    }
  }

  /** A folder that is not in the archive looks as it does in the uppermost layer below that has it. */
  async #inherit(writer: TreeWriter, { implied }: UnpackedLayer, below: readonly string[]): Promise<void> {
    for (const path of implied) {
      // A later member may have put a link in its place, or on the way to it.
      const kinds = await Promise.all(waysTo(path).map((way) => writer.kind(way)));
      if (kinds.some((kind) => kind !== 'directory')) continue;
      const found = await this.#folderBelow(path, below);
      if (!found) continue;
      const { mode, uid, gid, modifiedMs } = found;
      await writer.put(path, { kind: 'directory', mode, uid, gid, modifiedMs });
    }
  }

  /** Never through a link, which may lead out of the layer. What is no folder hides those below it. */
  async #folderBelow(path: string, below: readonly string[]): Promise<FileStat | undefined> {
    for (const chainId of below.toReversed()) {
      let found: FileStat | undefined;
      for (const way of waysTo(path)) {
        found = await this.#deps.fs.lstat(`${this.folder(chainId)}/${way}`);
        if (found === undefined) break;
        if (found.kind !== 'directory') return undefined;
      }
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #place(folder: string, stack: LayerStack, unpacked: UnpackedLayer, signal: AbortSignal): Promise<void> {
    const { fs } = this.#deps;
    const target = this.folder(stack.chainId);
    const usage = await fs.treeUsage(folder, signal);
    const file: LayerFile = { diffId: stack.diffId, usage, removed: unpacked.removed, opaque: unpacked.opaque };
    await fs.writeAtomic(`${target}.json`, JSON.stringify(file)); // on the disk, as the layer itself is
    await fs.rename(folder, target);
    this.#present.add(hexOf(stack.chainId));
  }
}

/** `a`, `a/b`, `a/b/c` */
function waysTo(path: string): readonly string[] {
  return path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
}
