import { basename, dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { FakeContainer } from '../../src/cri/fake/records.ts';
import type { Cri, CriMethod } from '../../src/cri/services.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { FileInode } from '../../src/host/fake/memory-inode.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';

/** The line that a container writes, and how often. */
const LINE = 'x'.repeat(290);
const WRITE_MS = 15_000;
/** The longest duration of a rotation without faults: the file is renamed, and the runtime has not yet reopened it. */
const REOPEN_MS = 1_000;

/** The directory of links to the logs of all containers. */
export const LOG_LINKS = '/var/log/containers';
/** The time in which a started container gets its link. */
const LINK_MS = 2_000;

/** The open log file of a running container: the inode, independent of its current name. */
interface OpenLog {
  readonly path: string;
  readonly startedAt: number;
  file: FileInode;
  lines: number;
  /** When the agent began to reopen it; absent when it has been reopened. */
  reopeningSince?: number | undefined;
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

  started({ id, logPath }: Pick<FakeContainer, 'id' | 'logPath'>): void {
    this.#begin(id, logPath).catch(() => undefined); // a pod whose directory is gone has no log
  }

  ended(id: string): void {
    this.#open.delete(id);
  }

  /** The agent makes a CRI call, which may take a while. */
  called(method: CriMethod, request: unknown): void {
    if (method !== 'reopenContainerLog') return;
    const { containerId } = request as { containerId: string }; // the request type of the method
    const open = this.#open.get(containerId);
    if (open) open.reopeningSince ??= this.#clock.monotonic();
  }

  /** The same runtime; implements ReopenContainerLog. */
  reopening(cri: Cri): Cri {
    const reopenContainerLog: Cri['runtime']['reopenContainerLog'] = async (request, signal) => {
      const answer = await cri.runtime.reopenContainerLog(request, signal);
      const open = this.#open.get(request.containerId);
      if (open) {
        open.file = await this.#file(open.path);
        open.reopeningSince = undefined;
      }
      return answer;
    };
    return { ...cri, runtime: { ...cri.runtime, reopenContainerLog } };
  }

  /**
   * The errors of the logs. Every line since the oldest retained one must exist, and the open file must have a name:
   * without faults, the log path itself, except in the moment of a rotation.
   */
  async errors(isCalm: boolean): Promise<string[]> {
    const errors = await Promise.all([...this.#open.values()].map((open) => this.#logError(open, isCalm)));
    return errors.filter((error) => error !== undefined);
  }

  /** A container that started without faults has a link to its log. */
  async linkErrors(quietAt: number): Promise<string[]> {
    const latest = this.#clock.monotonic() - LINK_MS;
    const logs = [...this.#open].filter(([, { startedAt }]) => startedAt > quietAt && startedAt < latest);
    if (logs.length === 0) return [];
    const names = (await this.#fs.readDirectory(LOG_LINKS)).map(({ name }) => name);
    const errors = logs.map(async ([id, { path }]) => {
      const link = names.find((name) => name.endsWith(`-${id}.log`));
      const target = link === undefined ? 'missing' : await this.#fs.readLink(`${LOG_LINKS}/${link}`);
      return target === path ? [] : [`the link to ${path} is ${target}`];
    });
    return (await Promise.all(errors)).flat();
  }

  async #begin(id: string, path: string): Promise<void> {
    const startedAt = this.#clock.monotonic();
    await this.#fs.makeDirectory(dirname(path));
    this.#open.set(id, { path, startedAt, file: await this.#file(path), lines: 0 });
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

  async #logError({ path, file, lines, reopeningSince }: OpenLog, isCalm: boolean): Promise<string | undefined> {
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
    const isRotated = reopeningSince !== undefined && this.#clock.monotonic() - reopeningSince <= REOPEN_MS;
    const inodes = (isCalm && !isRotated ? names.filter((name) => name === basename(path)) : names).map(
      (name) => this.#fs.tree.locate(`${folder}/${name}`, true).inode,
    );
    return inodes.includes(file) ? undefined : `the open log file of ${path} has no name`;
  }

  async #textOf(path: string): Promise<string> {
    const bytes = await this.#fs.readFile(path);
    return Buffer.from(path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  }
}
