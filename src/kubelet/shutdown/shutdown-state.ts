import { join } from 'node:path/posix';
import { formatNanoTime, parseTime } from '../../base/rfc3339.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';

/** When the last graceful shutdown began and ended; absent: it did not. */
export interface ShutdownTimes {
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
}

/** As Go writes a time that is not set. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

/** kubelet's file, which `kubelet_graceful_shutdown_*` metrics are read from after the reboot. */
export class ShutdownState {
  readonly #fs: Pick<FileSystem, 'writeAtomic' | 'readText'>;
  readonly #path: string;

  constructor(fs: Pick<FileSystem, 'writeAtomic' | 'readText'>, rootDir: string) {
    this.#fs = fs;
    this.#path = join(rootDir, 'graceful_node_shutdown_state');
  }

  async write({ startMs, endMs }: ShutdownTimes): Promise<void> {
    const text = JSON.stringify({ startTime: timeText(startMs), endTime: timeText(endMs) });
    await this.#fs.writeAtomic(this.#path, text);
  }

  /** Rejects with an error of JSON or of a time when the file is damaged. */
  async read(): Promise<ShutdownTimes> {
    const text = await this.#fs.readText(this.#path).catch((error: unknown) => {
      if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return {};
    const state: unknown = JSON.parse(text);
    return { startMs: timeOf(state, 'startTime'), endMs: timeOf(state, 'endTime') };
  }
}

function timeText(ms: number | undefined): string {
  return ms === undefined ? ZERO_TIME : formatNanoTime(BigInt(Math.floor(ms)) * 1_000_000n);
}

function timeOf(state: unknown, field: string): number | undefined {
  const text: unknown = state instanceof Object ? Reflect.get(state, field) : undefined;
  return typeof text !== 'string' || text === ZERO_TIME ? undefined : parseTime(text);
}
