import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { StorageLayout } from './storage-layout.ts';

/** `snapshots/<container id>` or `views/<name>`, below the storage folder. */
export type UserFolder = `${'snapshots' | 'views'}/${string}`;

/**
 * Which layers are below a container or a mounted image, whether its image is still here or not. A file in the user's own
 * folder says so, and goes with it; they are read when somebody asks for the first time. One owner.
 */
export class LayerUse {
  readonly #fs: FileSystem;
  readonly #layout: StorageLayout;
  readonly #known = new Map<UserFolder, readonly string[]>();
  readonly #claimed = new Set<UserFolder>();
  readonly #gone = new Set<UserFolder>();
  #loading: Promise<void> | undefined;

  constructor(fs: FileSystem, layout: StorageLayout) {
    this.#fs = fs;
    this.#layout = layout;
  }

  /** Counts from now on, before anything is on disk. */
  claim(user: UserFolder, chain: readonly string[]): void {
    this.#known.set(user, chain);
    this.#claimed.add(user);
    this.#gone.delete(user);
  }

  /** Writes the claim into the user's folder, which must exist. */
  async record(user: UserFolder): Promise<void> {
    await this.#fs.writeReplacing(`${this.#layout.root}/${user}/layers`, JSON.stringify(this.#known.get(user) ?? []));
  }

  /** Chain ids, the lowest first: what was claimed, in this life or an earlier one. */
  async chainOf(user: UserFolder): Promise<readonly string[]> {
    if (!this.#known.has(user)) await this.#read(user);
    return this.#known.get(user) ?? [];
  }

  /** Its folder is gone. */
  release(user: UserFolder): void {
    this.#known.delete(user);
    this.#claimed.delete(user);
    this.#gone.add(user);
  }

  /** In this life. */
  isClaimed(user: UserFolder): boolean {
    return this.#claimed.has(user);
  }

  /** Chain ids; resolves once those of earlier lives are counted. */
  async loaded(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined; // the next who asks tries again
      throw error;
    });
    await this.#loading;
  }

  holds(chainId: string): boolean {
    return [...this.#known.values()].some((chain) => chain.includes(chainId));
  }

  async #load(): Promise<void> {
    for (const kind of ['snapshots', 'views'] as const) {
      const folders = await this.#fs.readDirectory(`${this.#layout.root}/${kind}`);
      await Promise.all(folders.map(({ name }) => this.#read(`${kind}/${name}`)));
    }
  }

  async #read(user: UserFolder): Promise<void> {
    const text = await this.#recorded(user);
    if (text === undefined) return; // being made, or being removed
    const chain = parsedChain(text);
    if (!this.#known.has(user) && !this.#gone.has(user)) this.#known.set(user, chain);
  }

  async #recorded(user: UserFolder): Promise<string | undefined> {
    try {
      return await this.#fs.readText(`${this.#layout.root}/${user}/layers`);
    } catch (error) {
      if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

/** A loss of power may leave nothing of it: `record` does not wait for the disk. Then nothing is mounted, either. */
function parsedChain(text: string): readonly string[] {
  try {
    return JSON.parse(text) as string[]; // written by `record`
  } catch {
    return [];
  }
}
