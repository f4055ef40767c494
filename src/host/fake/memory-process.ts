import type { CommandResult, DaemonHandle, ProcessSignal, ProcessStart } from '../processes.ts';

/** The process of a scripted program. */
export interface ProgramContext {
  readonly pid: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly input: Uint8Array;
  /** Written by `RunningProgram.write`, until its input is closed. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Aborts when the process is killed; the program's later output has no effect. */
  readonly ended: AbortSignal;
  stdout(text: string): void;
  stderr(text: string): void;
  /** Writes the first line of a monitor to descriptor 3. */
  writeMonitorLine(line: string): void;
  /** Handles a signal that would otherwise end the program; SIGKILL cannot be handled. */
  onSignal(signal: Exclude<ProcessSignal, 'SIGKILL'>, handler: () => void): void;
}

/** A program that resolves with its exit code. A rejection is exit code 1 with the text on stderr. */
export type Program = (context: ProgramContext) => Promise<number>;

/** The parameters of a started program. */
export interface ProgramLaunch {
  readonly pid: number;
  readonly startTime: number;
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly input: Uint8Array;
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Receives the output. */
  write(stream: 'stdout' | 'stderr' | 'monitor', text: string): void;
}

const SIGNAL_NUMBERS: Record<ProcessSignal, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGTERM: 15,
};

/** One run of a scripted program. */
export class MemoryProcess implements DaemonHandle {
  readonly pid: number;
  readonly startTime: number;
  readonly start: ProcessStart;
  readonly exited: Promise<Pick<CommandResult, 'exitCode'>>;
  readonly #ended = new AbortController();
  readonly #handlers = new Map<number, () => void>();
  readonly #exit: (result: Pick<CommandResult, 'exitCode'>) => void;

  constructor(program: Program, launch: ProgramLaunch) {
    this.pid = launch.pid;
    this.startTime = launch.startTime;
    const env = Object.entries(launch.env).map(([name, value]) => `${name}=${value}`);
    this.start = { args: [launch.name, ...launch.args], env };
    const { promise, resolve } = Promise.withResolvers<Pick<CommandResult, 'exitCode'>>();
    this.exited = promise;
    this.#exit = resolve;
    void this.#run(program, launch);
  }

  /** Delivers a signal to the program's handler, or ends the process. */
  signal(signal: ProcessSignal | number): void {
    const number = typeof signal === 'number' ? signal : SIGNAL_NUMBERS[signal];
    const handler = this.#handlers.get(number);
    if (handler) handler();
    else this.#end(128 + number);
  }

  async #run(program: Program, launch: ProgramLaunch): Promise<void> {
    const { write, startTime, name, ...context } = launch;
    const writeWhileAlive = (stream: 'stdout' | 'stderr' | 'monitor', text: string): void => {
      if (!this.#ended.signal.aborted) write(stream, text);
    };
    try {
      const exitCode = await program({
        ...context,
        stdin: launch.stdin ?? nothing(),
        ended: this.#ended.signal,
        stdout: (text) => writeWhileAlive('stdout', text),
        stderr: (text) => writeWhileAlive('stderr', text),
        writeMonitorLine: (line) => writeWhileAlive('monitor', `${line}\n`),
        onSignal: (signal, handler) => this.#handlers.set(SIGNAL_NUMBERS[signal], handler),
      });
      this.#end(exitCode);
    } catch (error) {
      writeWhileAlive('stderr', `${error instanceof Error ? error.message : String(error)}\n`);
      this.#end(1);
    }
  }

  #end(exitCode: number): void {
    if (this.#ended.signal.aborted) return;
    this.#exit({ exitCode });
    this.#ended.abort();
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
