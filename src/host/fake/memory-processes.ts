import type { Clock } from '../clock.ts';
import {
  type Command,
  type CommandResult,
  type Daemon,
  type DaemonHandle,
  type MonitorCommand,
  type MonitorOutput,
  type Processes,
  type ProcessIdentity,
  ProcessOutputError,
  type ProcessSignal,
  type ProcessStart,
  ProcessStartError,
  type RunningProgram,
  type StreamedCommand,
} from '../processes.ts';
import { ErrorInjector } from './error-injector.ts';
import type { MemoryFileSystem } from './memory-file-system.ts';
import { MemoryProcess, type Program, type ProgramLaunch } from './memory-process.ts';
import { MemoryStreams } from './memory-streams.ts';
import { unlessAborted } from './unless-aborted.ts';

const TICK_MS = 10;

type StartOperation = 'run' | 'startDaemon' | 'spawn' | 'startMonitor';

export interface MemoryProcessesDeps {
  readonly clock: Clock;
  /** Holds the log files of daemons. */
  readonly fs: MemoryFileSystem;
}

/** Processes that run scripted programs. */
export class MemoryProcesses implements Processes {
  /** `errors.failNext('run', 'EAGAIN', program?)`. */
  readonly errors = new ErrorInjector<StartOperation>();
  readonly #clock: Clock;
  readonly #fs: MemoryFileSystem;
  readonly #programs = new Map<string, Program>();
  readonly #running = new Map<number, MemoryProcess>();
  #lastPid = 100;

  /** What `limitOpenFiles` has set. */
  openFilesLimit: number | undefined;

  constructor({ clock, fs }: MemoryProcessesDeps) {
    this.#clock = clock;
    this.#fs = fs;
  }

  /** Registers a program under a name. */
  install(name: string, program: Program): void {
    this.#programs.set(name, program);
  }

  async run(command: Command, signal: AbortSignal): Promise<CommandResult> {
    signal.throwIfAborted();
    const { program, args, env = {}, cwd = '/', input = '', maxOutputBytes = Number.POSITIVE_INFINITY } = command;
    const output = { stdout: '', stderr: '' };
    const process = this.#start('run', program, {
      args,
      env,
      cwd,
      input: typeof input === 'string' ? new TextEncoder().encode(input) : input,
      write: (stream, text) => {
        if (stream === 'monitor') return;
        output[stream] += text;
        if (output[stream].length > maxOutputBytes) onEnd();
      },
    });
    const onEnd = (): void => process.signal('SIGKILL');
    signal.addEventListener('abort', onEnd, { once: true });
    const { exitCode } = await process.exited;
    signal.removeEventListener('abort', onEnd);
    signal.throwIfAborted();
    const hasOverflow = Math.max(output.stdout.length, output.stderr.length) > maxOutputBytes;
    if (hasOverflow) throw new ProcessOutputError(program, maxOutputBytes);
    const encoder = new TextEncoder();
    return { exitCode, stdout: encoder.encode(output.stdout), stderr: encoder.encode(output.stderr) };
  }

  async startDaemon({ program, args, env = {}, logFile }: Daemon): Promise<DaemonHandle> {
    await this.#fs.appendFile(logFile, '').catch((error: unknown) => {
      throw new ProcessStartError('ENOENT', program, { cause: error });
    });
    return this.#start('startDaemon', program, {
      args,
      env,
      cwd: '/',
      input: new Uint8Array(),
      // A daemon whose log cannot be written continues without it.
      write: (_, text) => void this.#fs.appendFile(logFile, text).catch(() => {}),
    });
  }

  async identify(pid: number): Promise<ProcessIdentity | undefined> {
    const process = this.#running.get(pid);
    return process && { pid, startTime: process.startTime };
  }

  async limitOpenFiles(count: number): Promise<void> {
    this.openFilesLimit = count;
  }

  async find(matches: (start: ProcessStart) => boolean): Promise<readonly ProcessIdentity[]> {
    const found = [...this.#running.values()].filter(({ start }) => matches(start));
    return found.map(({ pid, startTime }) => ({ pid, startTime }));
  }

  async waitForExit({ pid, startTime }: ProcessIdentity, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const process = this.#running.get(pid);
    if (process?.startTime !== startTime) return;
    await unlessAborted(process.exited, signal);
  }

  async kill({ pid, startTime }: ProcessIdentity, signal: ProcessSignal | number): Promise<void> {
    const process = this.#running.get(pid);
    if (process?.startTime === startTime) process.signal(signal);
  }

  async killTree(process: ProcessIdentity): Promise<void> {
    await this.kill(process, 'SIGKILL');
  }

  /** In-memory programs have no terminal. */
  async resizeTerminal(): Promise<boolean> {
    return false;
  }

  async spawn({ program, args, env }: StreamedCommand): Promise<RunningProgram> {
    const streams = new MemoryStreams();
    const { stdin, write } = streams;
    const launch = { args, env, cwd: '/', input: new Uint8Array(), stdin, write };
    return streams.of(this.#start('spawn', program, launch));
  }

  async startMonitor(command: MonitorCommand, signal: AbortSignal): Promise<MonitorOutput> {
    signal.throwIfAborted();
    const { program, args, env, cwd } = command;
    const output = { stdout: '', stderr: '', monitor: '' };
    const firstLine = Promise.withResolvers<void>();
    const write: ProgramLaunch['write'] = (stream, text) => {
      output[stream] += text;
      if (stream === 'monitor') firstLine.resolve();
    };
    const process = this.#start('startMonitor', program, { args, env, cwd, input: new Uint8Array(), write });
    await command.whileWaiting?.(process.pid);
    await unlessAborted(Promise.race([firstLine.promise, process.exited]), signal);
    return { line: output.monitor.split('\n', 1)[0] ?? '', stderr: output.stderr };
  }

  #start(
    operation: StartOperation,
    name: string,
    launch: Omit<ProgramLaunch, 'name' | 'pid' | 'startTime'>,
  ): MemoryProcess {
    const program = this.#programs.get(name);
    const code = this.errors.take(operation, name);
    if (code !== undefined) throw new ProcessStartError(code, name);
    if (program === undefined) throw new ProcessStartError('ENOENT', name);

    const pid = ++this.#lastPid;
    const startTime = Math.floor(this.#clock.monotonic() / TICK_MS);
    const process = new MemoryProcess(program, { ...launch, name, pid, startTime });
    this.#running.set(pid, process);
    void process.exited.then(() => this.#running.delete(pid));
    return process;
  }
}
