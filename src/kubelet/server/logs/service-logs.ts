import { Buffer } from 'node:buffer';
import { DEFAULT_PATH } from '../../../base/default-path.ts';
import { errorText } from '../../../base/error-text.ts';
import type { Clock } from '../../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../../host/file-system.ts';
import type { Processes } from '../../../host/processes.ts';
import { hasOptions, journalArguments, type LogOptions } from './node-log-query.ts';

export interface ServiceLogDeps {
  readonly fs: Pick<FileSystem, 'openFileBeneath'>;
  readonly processes: Pick<Processes, 'run' | 'spawn'>;
  readonly clock: Pick<Clock, 'deadline'>;
  /** `/var/log` */
  readonly folder: string;
}

const JOURNALCTL = 'journalctl';
const ENVIRONMENT = { PATH: DEFAULT_PATH };
/** For the whole response, also for a client that reads slowly. */
const TIMEOUT_MS = 30_000;
/** A machine has some hundred units. */
const MAX_UNIT_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** The logs of services: from the journal where they have entries there, else from their files. Errors are lines of text. */
export async function* serviceLogs(
  deps: ServiceLogDeps,
  services: readonly string[],
  options: LogOptions,
  client: AbortSignal,
): AsyncGenerator<string | Uint8Array, void, void> {
  const signal = AbortSignal.any([client, deps.clock.deadline(TIMEOUT_MS)]);
  const units = await journalUnits(deps, signal);
  const hasUnit = (service: string): boolean => units.includes(`${service}.service`);
  const inJournal = services.filter(hasUnit);
  const inFiles = services.filter((service) => !hasUnit(service));
  if (inJournal.length > 0) yield* journalOutput(deps, journalArguments(options, inJournal), signal);
  if (inFiles.length === 0) return;
  if (hasOptions(options)) {
    const names = inFiles.join(' ');
    yield `\noptions present and query resolved to log files for [${names}]\ntry without specifying options\n`;
    return;
  }
  for (const service of inFiles) yield* fileLog(deps, service, signal);
}

/** The units that journalctl lists; empty on a machine without it. */
async function journalUnits({ processes }: ServiceLogDeps, signal: AbortSignal): Promise<string> {
  const command = { program: JOURNALCTL, args: ['--field', '_SYSTEMD_UNIT'], maxOutputBytes: MAX_UNIT_BYTES };
  const listed = await processes.run({ ...command, env: ENVIRONMENT }, signal).catch(() => undefined);
  return listed?.exitCode === 0 ? Buffer.from(listed.stdout).toString() : '';
}

async function* journalOutput(
  { processes }: ServiceLogDeps,
  args: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array, void, void> {
  const started = processes.spawn({ program: JOURNALCTL, args, env: ENVIRONMENT, streams: 'outputOnly' });
  const program = await started.catch(() => undefined);
  if (program === undefined) {
    yield '\nerror: journal output not available\n';
    return;
  }
  const kill = (): void => void program.kill().catch(() => undefined); // it has ended
  signal.addEventListener('abort', kill, { once: true });
  const errors = firstBytes(program.stderr);
  try {
    if (!signal.aborted) yield* program.stdout;
    yield await errors;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** Read to its end, so that the program can go on. */
async function firstBytes(output: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of output) {
      if (length < CHUNK_BYTES) chunks.push(chunk);
      length += chunk.length;
    }
  } catch {
    // The program was killed.
  }
  return Buffer.concat(chunks).subarray(0, CHUNK_BYTES);
}

/** `NAME`, `NAME.log` or `NAME/NAME.log`: the first one that exists. */
async function* fileLog(
  { fs, folder }: ServiceLogDeps,
  service: string,
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array, void, void> {
  for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
    try {
      await using file = await fs.openFileBeneath(folder, name);
      for (let offset = 0; !signal.aborted; ) {
        const chunk = await file.read(offset, CHUNK_BYTES);
        if (chunk.length === 0) break;
        offset += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      const code = error instanceof FileSystemError ? error.code : '';
      if (code === 'ENOENT' || code === 'EISDIR') continue;
      yield `\nerror getting log for ${service}: ${openErrorText(code, name, error)}\n`;
      return;
    }
  }
  yield `\nlog not found for ${service}\n`;
}

const OPEN_ERRORS: Readonly<Record<string, string>> = {
  EXDEV: 'path escapes from parent',
  ENOTDIR: 'not a directory',
  EACCES: 'permission denied',
};

function openErrorText(code: string, name: string, error: unknown): string {
  const text = OPEN_ERRORS[code];
  return text === undefined ? errorText(error) : `openat ${name}: ${text}`;
}
