import { basename, dirname } from 'node:path';
import type { FileSystem } from '../../host/file-system.ts';
import type { LogEntry } from './log-entries.ts';
import { logsInUse, rotatedLogs } from './log-file-names.ts';
import { OpenLog } from './open-log.ts';
import type { Tail } from './tail-offset.ts';

/**
 * A position in a container's log that survives rotation.
 * 1. Every entry is returned once, whichever file it is in when it is read.
 * 2. A file is read to its end before the next one, and once more afterwards: the runtime may finish a line in the old
 *    file after it has opened the new one.
 * 3. A follower that is more than one rotated file behind loses files that were compressed before it opened them.
 */
export class LogFollower implements AsyncDisposable {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #tail: Tail | undefined;
  #previous: OpenLog | undefined;
  #current: OpenLog | undefined;

  /** `tail` applies to the first file. */
  constructor(fs: FileSystem, path: string, tail: Tail | undefined) {
    this.#fs = fs;
    this.#path = path;
    this.#tail = tail;
  }

  /** Entries since the last call. */
  async *entries(): AsyncGenerator<readonly LogEntry[], void, void> {
    this.#current ??= await this.#openFirst();
    if (!this.#current) return;
    for (;;) {
      if (this.#previous) yield* this.#previous.entries();
      yield* this.#current.entries();
      const next = await this.#next(this.#current);
      if (!next) return;
      const left = this.#previous;
      this.#previous = this.#current;
      this.#current = next;
      if (!left) continue;
      yield left.unfinished();
      await left[Symbol.asyncDispose]();
    }
  }

  /** Last lines without a line feed. Call when no more entries follow. */
  unfinished(): readonly LogEntry[] {
    return [this.#previous, this.#current].flatMap((log) => log?.unfinished() ?? []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#previous?.[Symbol.asyncDispose]();
    await this.#current?.[Symbol.asyncDispose]();
  }

  async #openFirst(): Promise<OpenLog | undefined> {
    const log = await OpenLog.open(this.#fs, this.#path);
    if (log && this.#tail) await log.skipTo(this.#tail);
    return log;
  }

  /** The file after this one; `undefined` while this one is being written. */
  async #next({ stat }: OpenLog): Promise<OpenLog | undefined> {
    if ((await this.#fs.stat(this.#path))?.inode === stat.inode) return undefined;
    return OpenLog.open(this.#fs, await this.#pathAfter(stat.inode));
  }

  /** The oldest rotated files are removed first: if the file with this inode is gone, all remaining ones are newer. */
  async #pathAfter(inode: number): Promise<string> {
    const folder = dirname(this.#path);
    if ((await this.#fs.stat(folder)) === undefined) return this.#path;
    const names = (await this.#fs.readDirectory(folder)).map(({ name }) => name);
    let following: string | undefined;
    for (const { name, form } of logsInUse(rotatedLogs(basename(this.#path), names)).toReversed()) {
      if (form === 'compressed') continue;
      if ((await this.#fs.lstat(`${folder}/${name}`))?.inode === inode) break;
      following = `${folder}/${name}`;
    }
    return following ?? this.#path;
  }
}
