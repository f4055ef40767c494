import { basename, dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { logsInUse, rotatedLogs } from './log-file-names.ts';

/** A container's log as the runtime writes it: into the file that it opened, even if that was renamed. */
export class WrittenLog {
  readonly #fs: FileSystem;
  readonly path: string;
  #inode = 0;
  #lines = 0;

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs;
    this.path = path;
  }

  /** Number of written lines: `line 0`, `line 1`, … */
  get lines(): number {
    return this.#lines;
  }

  /** Opens the file by name, as when a container starts and after a rotation. */
  async open(): Promise<void> {
    await this.#fs.makeDirectory(dirname(this.path));
    await this.#fs.appendFile(this.path, '');
    this.#inode = (await this.#fs.stat(this.path))?.inode ?? 0;
  }

  async writeLines(count: number): Promise<void> {
    const lines = Array.from({ length: count }, (_, index) => entry(`line ${this.#lines + index}`));
    this.#lines += count;
    await this.write(lines.join(''));
  }

  async write(text: string): Promise<void> {
    const path = await this.#openPath();
    if (path !== undefined) await this.#fs.appendFile(path, text);
  }

  /** All lines in all log files, oldest first. */
  async kept(): Promise<string[]> {
    const folder = dirname(this.path);
    const names = (await this.#fs.readDirectory(folder)).map(({ name }) => name);
    const rotated = logsInUse(rotatedLogs(basename(this.path), names)).map(({ name }) => name);
    const files = names.includes(basename(this.path)) ? [...rotated, basename(this.path)] : rotated;
    const texts = await Promise.all(files.map((name) => this.#text(`${folder}/${name}`)));
    return texts.flatMap((text) => text.split('\n').slice(0, -1)).map((line) => line.replace(/^\S+ \S+ F /, ''));
  }

  async #text(path: string): Promise<string> {
    const bytes = await this.#fs.readFile(path);
    return Buffer.from(path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  }

  async #openPath(): Promise<string | undefined> {
    const folder = dirname(this.path);
    for (const { name } of await this.#fs.readDirectory(folder)) {
      if ((await this.#fs.stat(`${folder}/${name}`))?.inode === this.#inode) return `${folder}/${name}`;
    }
    return undefined;
  }
}

let time = 1_800_000_000_000_000_000n;

/** One line of a CRI log with a unique time. */
export function entry(text: string, tag: 'F' | 'P' = 'F', stream: 'stdout' | 'stderr' = 'stdout'): string {
  return `${formatNanoTime(time++)} ${stream} ${tag} ${text}\n`;
}
