import { cleanArchivePath } from './archive-path.ts';
import { type ByteInput, UnexpectedEofError } from './byte-reader.ts';
import { readTar } from './read-tar.ts';
import { TarError } from './tar-header.ts';

/** Bytes with random access: a file, or memory. */
export interface RandomAccess {
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

const CHUNK_BYTES = 512 * 1024;
/** Limits for manifests and configurations: one document, and all of them together. */
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;
const MAX_METADATA_BYTES = 64 * 1024 * 1024;
/** Images have a few hundred files; a larger number is an attack. */
const MAX_FILES = 100_000;
/** Limit for the sum of all file names, which are held in memory. */
const MAX_NAME_BYTES = 32 * 1024 * 1024;
/** A longer chain of links is a loop. */
const MAX_LINKS = 8;

interface Extent {
  readonly offset: number;
  readonly size: number;
}

/** The files of a tar archive by name, in any order. */
export class ImageArchive {
  readonly #source: RandomAccess;
  readonly #files: ReadonlyMap<string, Extent>;
  readonly #links: ReadonlyMap<string, string>;
  #metadata = 0;

  private constructor(source: RandomAccess, files: ReadonlyMap<string, Extent>, links: ReadonlyMap<string, string>) {
    this.#source = source;
    this.#files = files;
    this.#links = links;
  }

  /** Reads the headers and skips the contents. Throws `TarError` or `UnexpectedEofError`. */
  static async open(source: RandomAccess, signal: AbortSignal): Promise<ImageArchive> {
    const files = new Map<string, Extent>();
    const links = new Map<string, string>();
    let names = 0;
    for await (const { name, node, offset } of membersOf(source, signal)) {
      names += name.length;
      if (names > MAX_NAME_BYTES) throw new TarError('the archive has too many long names');
      if (files.size + links.size >= MAX_FILES) throw new TarError(`the archive has more than ${MAX_FILES} files`);
      const path = cleanArchivePath(name);
      if (node.kind === 'file') files.set(path, { offset, size: node.size });
      // Old versions of `docker save` wrote a layer that two images share as a link.
      if (node.kind === 'symlink') links.set(path, cleanArchivePath(`${path}/../${node.target}`));
      if (node.kind === 'hardLink') links.set(path, cleanArchivePath(node.target));
    }
    return new ImageArchive(source, files, links);
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  size(name: string): number {
    return this.#extent(name).size;
  }

  async read(name: string): Promise<Uint8Array> {
    const { offset, size } = this.#extent(name);
    if (size > MAX_DOCUMENT_BYTES) throw new TarError(`${name}: ${size} bytes are too many`);
    this.#metadata += size;
    if (this.#metadata > MAX_METADATA_BYTES) throw new TarError('the manifests of the archive are too many');
    return this.#source.read(offset, size);
  }

  async *stream(name: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    yield* chunks(this.#source, this.#extent(name), signal);
  }

  #extent(name: string): Extent {
    const found = this.#find(name);
    if (found === undefined) throw new TarError(`the archive has no ${name}`);
    return found;
  }

  #find(name: string): Extent | undefined {
    let path = name;
    for (let links = 0; links < MAX_LINKS; links++) {
      const next = this.#links.get(path);
      if (next === undefined) return this.#files.get(path);
      path = next;
    }
    return undefined;
  }
}

/** Reports data that is not an archive at all as such, instead of as a header error of its first bytes. */
async function* membersOf(source: RandomAccess, signal: AbortSignal): ReturnType<typeof readTar> {
  let isArchive = false;
  try {
    for await (const member of readTar(new SeekingReader(source, signal))) {
      isArchive = true;
      yield member;
    }
  } catch (error) {
    if (isArchive || !(error instanceof TarError || error instanceof UnexpectedEofError)) throw error;
    throw new TarError('it is not an image archive (tar, gzip or zstd)', { cause: error });
  }
}

/** Streams the whole source. */
export async function* streamAll(source: RandomAccess, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  yield* chunks(source, { offset: 0, size: source.size }, signal);
}

async function* chunks(source: RandomAccess, { offset, size }: Extent, signal: AbortSignal) {
  for (let done = 0; done < size; ) {
    signal.throwIfAborted();
    const chunk = await source.read(offset + done, Math.min(CHUNK_BYTES, size - done));
    if (chunk.byteLength === 0) throw new TarError('the archive became shorter while it was read');
    done += chunk.byteLength;
    yield chunk;
  }
}

/** Skips by seeking instead of reading. */
class SeekingReader implements ByteInput {
  readonly #source: RandomAccess;
  readonly #signal: AbortSignal;
  #position = 0;

  constructor(source: RandomAccess, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
  }

  async read(most: number): Promise<Uint8Array | undefined> {
    this.#signal.throwIfAborted();
    const bytes = await this.#source.read(this.#position, Math.min(most, CHUNK_BYTES));
    this.#position += bytes.byteLength;
    return bytes.byteLength === 0 ? undefined : bytes;
  }

  async readExactly(length: number): Promise<Uint8Array | undefined> {
    this.#signal.throwIfAborted();
    const bytes = await this.#source.read(this.#position, length);
    this.#position += bytes.byteLength;
    if (bytes.byteLength === 0 || bytes.byteLength === length) return bytes.byteLength === 0 ? undefined : bytes;
    throw new UnexpectedEofError(`unexpected end of data after ${bytes.byteLength} of ${length} bytes`);
  }

  async skip(length: number): Promise<void> {
    this.#position += length;
    if (this.#position > this.#source.size) throw new UnexpectedEofError('unexpected end of data');
  }
}
