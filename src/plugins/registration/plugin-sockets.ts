import { ChangeSignal } from '../../base/change-signal.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';

/** kubelet's mode of its folders. */
const FOLDER_MODE = 0o750;
/** The delay before a folder that cannot be watched is tried again. */
const RETRY_MS = 1_000;

export interface PluginSocketsDeps {
  readonly fs: Pick<FileSystem, 'makeDirectory' | 'readDirectory' | 'stat' | 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The path of each socket, and a text that differs for a socket that was replaced. */
export type PluginSockets = ReadonlyMap<string, string>;

/**
 * Finds the sockets below the folder `plugins_registry` of kubelet's root directory, which is created if it is missing,
 * together with `plugins`, where drivers put their own sockets. Folders below are watched too; names that start with a dot
 * are ignored, and so are links to folders.
 */
export class PluginSocketWatcher {
  readonly #folders: readonly string[];
  readonly #folder: string;
  readonly #deps: PluginSocketsDeps;
  readonly #changes = new ChangeSignal();
  readonly #watched = new Set<string>();
  #failures = 0;
  #lastFailure = '';

  constructor(rootDir: string, deps: PluginSocketsDeps) {
    this.#folder = `${rootDir}/plugins_registry`;
    this.#folders = [rootDir, `${rootDir}/plugins`, this.#folder];
    this.#deps = deps;
  }

  /** Yields all sockets at first and after each change, until the signal aborts. */
  async *watch(signal: AbortSignal): AsyncGenerator<PluginSockets, void, void> {
    this.#changes.notify();
    while (await this.#changes.next(signal)) {
      const sockets = new Map<string, string>();
      const failuresBefore = this.#failures;
      try {
        for (const folder of this.#folders) await this.#deps.fs.makeDirectory(folder, FOLDER_MODE);
        await this.#scan(this.#folder, sockets, signal);
      } catch (error) {
        this.#retryLater('cannot read the folder of plugin sockets, retrying', error, signal);
        continue;
      }
      if (this.#failures === failuresBefore) this.#lastFailure = '';
      if (signal.aborted) return; // the scan may have ended early
      yield sockets;
    }
  }

  async #scan(folder: string, sockets: Map<string, string>, signal: AbortSignal): Promise<void> {
    if (!(await this.#ensureWatch(folder, signal))) return;
    const entries = await this.#deps.fs.readDirectory(folder).catch(unlessRemoved(folder === this.#folder));
    for (const { name, kind } of entries ?? []) {
      if (name.startsWith('.')) continue;
      const path = `${folder}/${name}`;
      if (kind === 'directory') await this.#scan(path, sockets, signal);
      if (kind !== 'socket' && kind !== 'symlink') continue;
      const stat = await this.#deps.fs.stat(path);
      if (stat?.kind !== 'socket') continue;
      const { device, inode, modifiedMs } = stat;
      sockets.set(path, `${device}:${inode}:${modifiedMs}`); // inode numbers are used again, at a later time
    }
  }

  /**
   * Resolves once the folder is watched, so that no change after the scan is missed; to `false` if the folder is gone. A
   * folder that cannot be watched is scanned again every second.
   */
  async #ensureWatch(folder: string, signal: AbortSignal): Promise<boolean> {
    if (this.#watched.has(folder)) return true;
    this.#watched.add(folder);
    const established = Promise.withResolvers<boolean>();
    void this.#follow(folder, established, signal);
    return established.promise;
  }

  async #follow(folder: string, established: PromiseWithResolvers<boolean>, signal: AbortSignal): Promise<void> {
    let isFirst = true;
    try {
      for await (const _ of this.#deps.fs.watch(folder, signal)) {
        if (!isFirst) this.#changes.notify();
        isFirst = false;
        established.resolve(true);
      }
      this.#watched.delete(folder);
    } catch (error) {
      this.#watched.delete(folder);
      const isGone = error instanceof FileSystemError && error.code === 'ENOENT';
      if (isGone) this.#changes.notify();
      else this.#retryLater('cannot watch a folder of plugin sockets, retrying', error, signal);
      established.resolve(!isGone);
    } finally {
      established.resolve(false);
    }
  }

  /** Logs each failure once. */
  #retryLater(message: string, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#failures++;
    const text = String(error);
    if (text !== this.#lastFailure) this.#deps.log.warn(message, { folder: this.#folder, error });
    this.#lastFailure = text;
    this.#deps.clock.sleep(RETRY_MS, signal).then(
      () => this.#changes.notify(),
      () => {}, // stopped
    );
  }
}

/** A folder below may be removed at any time; the root is created again with the next scan. */
function unlessRemoved(isRoot: boolean): (error: unknown) => undefined {
  return (error) => {
    if (!isRoot && error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
    throw error;
  };
}
