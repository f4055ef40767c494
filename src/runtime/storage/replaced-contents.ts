import type { FileKind, FileSystem } from '../../host/file-system.ts';
import type { TreeFiles } from '../../host/tree.ts';
import type { SpaceGuard } from './space-guard.ts';

/** The content of a member that a later member of the same layer replaced, in the file beside the frame. */
export interface ReplacedContent {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

export interface ReplacedContentsDeps {
  readonly fs: FileSystem;
  readonly space: SpaceGuard;
}

const COPY_BYTES = 1024 * 1024;
/** The list is held in memory and in the layer's own small file. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;
const ENTRY_BYTES = 100;

/**
 * Copies contents that a layer's own members replace, so that its archive can be rebuilt. Few layers have any. The
 * copies never exceed the received bytes: holes and hard links could make them any size; then nothing is copied.
 */
export class ReplacedContents {
  readonly #deps: ReplacedContentsDeps;
  readonly #file: string;
  #list: ReplacedContent[] | undefined = [];
  #listBytes = 0;
  #maxBytes = 0;
  #end = 0;
  /** Whether anything was replaced, copied or not. */
  hasReplaced = false;

  constructor(deps: ReplacedContentsDeps, file: string) {
    this.#deps = deps;
    this.#file = file;
  }

  /** `undefined`: the limit was exceeded. */
  get list(): readonly ReplacedContent[] | undefined {
    return this.#list;
  }

  /** Raises the limit by the received bytes. */
  allow(bytes: number): void {
    this.#maxBytes += bytes;
  }

  async copyReplaced(path: string, kind: FileKind, tree: TreeFiles, signal: AbortSignal): Promise<void> {
    this.hasReplaced = true;
    if (kind !== 'file' || this.#list === undefined) return;
    const offset = this.#end;
    await this.#copy(tree.read(path, { offset: 0, length: this.#maxBytes - offset + 1 }, signal));
    this.#list.push({ path, offset, length: this.#end - offset });
    this.#listBytes += path.length + ENTRY_BYTES;
    if (this.#end <= this.#maxBytes && this.#listBytes <= MAX_LIST_BYTES) return;
    this.#list = undefined;
    await this.#deps.fs.remove(this.#file);
  }

  async #copy(content: AsyncIterable<Uint8Array>): Promise<void> {
    const { fs, space } = this.#deps;
    for await (const chunk of content) {
      await space.reserve(chunk.byteLength, 0);
      await fs.appendFile(this.#file, chunk);
      this.#end += chunk.byteLength;
    }
  }
}

/** Returns a part of a copied content. */
export async function* readReplaced(
  fs: FileSystem,
  file: string,
  kept: ReplacedContent,
  extent: { readonly offset: number; readonly length: number },
): AsyncGenerator<Uint8Array, void, void> {
  const end = Math.min(kept.length, extent.offset + extent.length);
  for (let at = extent.offset; at < end; at += COPY_BYTES) {
    yield await fs.readRange(file, kept.offset + at, Math.min(COPY_BYTES, end - at));
  }
}
