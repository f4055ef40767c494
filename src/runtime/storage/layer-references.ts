import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { StorageLayout } from './storage-layout.ts';

/** `snapshots/<container id>` or `views/<name>`, below the storage directory. */
export type LayerUser = `${'snapshots' | 'views'}/${string}`;

/**
 * Tracks which layers a container or mounted image uses, whether or not its image still exists. A file in the user's
 * directory records them and is removed with it; files of previous processes are read on first use. Has a single owner.
 */
export class LayerReferences {
  readonly #fs: FileSystem;
  readonly #layout: StorageLayout;
  readonly #known = new Map<LayerUser, readonly string[]>();
  readonly #claimed = new Set<LayerUser>();
  readonly #gone = new Set<LayerUser>();
  #loading: Promise<void> | undefined;

  constructor(fs: FileSystem, layout: StorageLayout) {
    this.#fs = fs;
    this.#layout = layout;
  }

  /** Takes effect at once, before anything is on disk. */
  claim(user: LayerUser, chain: readonly string[]): void {
    this.#known.set(user, chain);
    this.#claimed.add(user);
    this.#gone.delete(user);
  }

  /** Writes the claim into the user's directory, which must exist. */
  async record(user: LayerUser): Promise<void> {
    await this.#fs.writeReplacing(`${this.#layout.root}/${user}/layers`, JSON.stringify(this.#known.get(user) ?? []));
  }

  /** Returns the claimed chain IDs, lowest first, also of previous processes. */
  async chainOf(user: LayerUser): Promise<readonly string[]> {
    if (!this.#known.has(user)) await this.#read(user);
    return this.#known.get(user) ?? [];
  }

  /** To be called when the user's directory is gone. */
  release(user: LayerUser): void {
    this.#known.delete(user);
    this.#claimed.delete(user);
    this.#gone.add(user);
  }

  /** Whether this process claimed it. */
  isClaimed(user: LayerUser): boolean {
    return this.#claimed.has(user);
  }

  /** Resolves when the claims of previous processes are loaded. */
  async load(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined; // the next caller tries again
      throw error;
    });
    await this.#loading;
  }

  isInUse(chainId: string): boolean {
    return [...this.#known.values()].some((chain) => chain.includes(chainId));
  }

  async #load(): Promise<void> {
    for (const kind of ['snapshots', 'views'] as const) {
      const folders = await this.#fs.readDirectory(`${this.#layout.root}/${kind}`);
      await Promise.all(folders.map(({ name }) => this.#read(`${kind}/${name}`)));
    }
  }

  async #read(user: LayerUser): Promise<void> {
    const text = await this.#recorded(user);
    if (text === undefined) return; // being created or removed
    const chain = parseChain(text);
    if (!this.#known.has(user) && !this.#gone.has(user)) this.#known.set(user, chain);
  }

  async #recorded(user: LayerUser): Promise<string | undefined> {
    try {
      return await this.#fs.readText(`${this.#layout.root}/${user}/layers`);
    } catch (error) {
      if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

/** The file may be empty after a power loss: `record` does not sync. Then nothing is mounted either. */
function parseChain(text: string): readonly string[] {
  try {
    return JSON.parse(text) as string[]; // written by `record`
  } catch {
    return [];
  }
}
