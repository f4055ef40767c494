import { basename, dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { FakeContainer } from '../../src/cri/fake/records.ts';
import type { Cri } from '../../src/cri/services.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { FileInode } from '../../src/host/fake/memory-inode.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';

/** The line that a container writes, and how often. */
const LINE = 'x'.repeat(290);
const WRITE_MS = 15_000;

/** The open log file of a running container: the inode, independent of its current name. */
interface OpenLog {
  readonly path: string;
  file: FileInode;
  lines: number;
}

/** The logs of running containers, as a runtime writes them. */
export class SimLogs {
  readonly #fs: MemoryFileSystem;
  readonly #clock: VirtualClock;
  /** By container. */
  readonly #open = new Map<string, OpenLog>();

  constructor(fs: MemoryFileSystem, clock: VirtualClock) {
    this.#fs = fs;
    this.#clock = clock;
  }

  begin(): void {
    this.#clock.schedule(WRITE_MS, () => this.#writeAll(), { isBackground: true });
  }

  started({ id, logPath }: Readonly<FakeContainer>): void {
    this.#begin(id, logPath).catch(() => undefined); // a pod whose directory is gone has no log
  }

  ended(id: string): void {
    this.#open.delete(id);
  }

  /** The same runtime; implements ReopenContainerLog. */
  reopening(cri: Cri): Cri {
    const reopenContainerLog: Cri['runtime']['reopenContainerLog'] = async (request, signal) => {
      const answer = await cri.runtime.reopenContainerLog(request, signal);
      const open = this.#open.get(request.containerId);
      if (open) open.file = await this.#file(open.path);
      return answer;
    };
    return { ...cri, runtime: { ...cri.runtime, reopenContainerLog } };
  }

  /**
   * The errors of the logs. Every line since the oldest retained one must exist, and the open file must have a name:
   * without errors, the log path itself.
   */
  async errors(isCalm: boolean): Promise<string[]> {
    const errors = await Promise.all([...this.#open.values()].map((open) => this.#logError(open, isCalm)));
    return errors.filter((error) => error !== undefined);
  }

  async #begin(id: string, path: string): Promise<void> {
    await this.#fs.makeDirectory(dirname(path));
    this.#open.set(id, { path, file: await this.#file(path), lines: 0 });
  }

  async #file(path: string): Promise<FileInode> {
    await this.#fs.appendFile(path, '');
    const { inode } = this.#fs.tree.locate(path, true);
    if (inode?.kind !== 'file') throw new Error(`${path} is not a file`);
    return inode;
  }

  #writeAll(): void {
    for (const open of this.#open.values()) {
      open.file.bytes = new Uint8Array(Buffer.concat([open.file.bytes, Buffer.from(`${open.lines++} ${LINE}\n`)]));
    }
    this.begin();
  }

  async #logError({ path, file, lines }: OpenLog, isCalm: boolean): Promise<string | undefined> {
    const folder = dirname(path);
    const entries = (await this.#fs.stat(folder)) ? await this.#fs.readDirectory(folder) : [];
    const names = entries.map(({ name }) => name).filter((name) => name.startsWith(basename(path)));
    const isWhole = (name: string): boolean => !name.endsWith('.tmp') && !names.includes(`${name}.gz`);
    const texts = await Promise.all(names.filter(isWhole).map((name) => this.#textOf(`${folder}/${name}`)));
    const numbers = texts.flatMap((text) => text.split('\n').filter(Boolean).map(Number.parseFloat));
    numbers.sort((a, b) => a - b);
    const [first = lines] = numbers;
    const isGapless = numbers.every((number, index) => number === first + index) && first + numbers.length === lines;
    if (!isGapless) return `lines are missing: ${path} has ${numbers} of ${lines} lines`;
    const inodes = (isCalm ? names.filter((name) => name === basename(path)) : names).map(
      (name) => this.#fs.tree.locate(`${folder}/${name}`, true).inode,
    );
    return inodes.includes(file) ? undefined : `the open log file of ${path} has no name`;
  }

  async #textOf(path: string): Promise<string> {
    const bytes = await this.#fs.readFile(path);
    return Buffer.from(path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  }
}
