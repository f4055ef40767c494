import type { FileKind, FileSystem } from '../../host/file-system.ts';
import type { TreeFiles } from '../../host/tree.ts';
import type { SpaceGuard } from './space-guard.ts';

/** A content that a later member of the same layer took the place of, in the file beside the frame. */
export interface KeptContent {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

export interface KeptContentsDeps {
  readonly fs: FileSystem;
  readonly space: SpaceGuard;
}

const COPY_BYTES = 1024 * 1024;
/** The list of them is in memory, and in the layer's own small file. */
const MOST_LIST_BYTES = 16 * 1024 * 1024;
const ENTRY_BYTES = 100;

/**
 * Copies what a layer's own members replace, so that its archive can be made again. Hardly any layer has something. It is
 * never more than what came: holes and hard links would make it any size, and then nothing is kept.
 */
export class KeptContents {
  readonly #deps: KeptContentsDeps;
  readonly #file: string;
  #list: KeptContent[] | undefined = [];
  #listBytes = 0;
  #mostBytes = 0;
  #end = 0;
  /** Whether anything was replaced, kept or not. */
  hasReplaced = false;

  constructor(deps: KeptContentsDeps, file: string) {
    this.#deps = deps;
    this.#file = file;
  }

  /** `undefined`: it was too much. */
  get list(): readonly KeptContent[] | undefined {
    return this.#list;
  }

  /** So much came, which may be replaced later. */
  allow(bytes: number): void {
    this.#mostBytes += bytes;
  }

  async keep(path: string, kind: FileKind, tree: TreeFiles, signal: AbortSignal): Promise<void> {
    this.hasReplaced = true;
    if (kind !== 'file' || this.#list === undefined) return;
    const offset = this.#end;
    await this.#copy(tree.read(path, { offset: 0, length: this.#mostBytes - offset + 1 }, signal));
    this.#list.push({ path, offset, length: this.#end - offset });
    this.#listBytes += path.length + ENTRY_BYTES;
    if (this.#end <= this.#mostBytes && this.#listBytes <= MOST_LIST_BYTES) return;
    this.#list = undefined;
    await this.#deps.fs.remove(this.#file);
  }

  async #copy(content: AsyncIterable<Uint8Array>): Promise<void> {
    const { fs, space } = this.#deps;
    for await (const chunk of content) {
      await space.take(chunk.byteLength, 0);
      await fs.appendFile(this.#file, chunk);
      this.#end += chunk.byteLength;
    }
  }
}

/** A part of a kept content. */
export async function* keptBytes(
  fs: FileSystem,
  file: string,
  kept: KeptContent,
  extent: { readonly offset: number; readonly length: number },
): AsyncGenerator<Uint8Array, void, void> {
  const end = Math.min(kept.length, extent.offset + extent.length);
  for (let at = extent.offset; at < end; at += COPY_BYTES) {
    yield await fs.readRange(file, kept.offset + at, Math.min(COPY_BYTES, end - at));
  }
}
