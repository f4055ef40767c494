/** Other programs. No command goes through a shell. */
export interface Processes {
  /**
   * Runs a program to its end in a new session: Ctrl-C at the agent's terminal does not reach it. A non-zero exit code is a
   * result, not an error; a program that cannot be started rejects with a `ProcessStartError`. When the signal aborts, the
   * program and its descendants are killed, and the call rejects with the signal's reason.
   */
  run(command: Command, signal: AbortSignal): Promise<CommandResult>;

  /**
   * Starts a program that outlives the agent: in a new session, so that Ctrl-C at the agent's terminal does not reach it, and
   * without a pipe to the agent. Its working folder is `/`. Rejects with a `ProcessStartError`.
   */
  startDaemon(daemon: Daemon): Promise<DaemonHandle>;

  /** Identifies a process even if its pid is reused later; `undefined` when it does not exist or is a zombie. */
  identify(pid: number): Promise<ProcessIdentity | undefined>;

  /**
   * Sets how many files this process and those that it starts can open: the soft and the hard limit. Rejects with an error
   * that names the errno.
   */
  limitOpenFiles(count: number): Promise<void>;

  /** The processes of the machine that `matches` accepts, without zombies. Reads /proc of every process. */
  find(matches: (start: ProcessStart) => boolean): Promise<readonly ProcessIdentity[]>;

  /** Resolves when the process has ended (at once if it has), also when it is not a child of the agent. */
  waitForExit(process: ProcessIdentity, signal: AbortSignal): Promise<void>;

  /**
   * Not an error when the process has ended, or when its pid now belongs to another process. A signal without a name in
   * `ProcessSignal` is given as its number.
   */
  kill(process: ProcessIdentity, signal: ProcessSignal | number): Promise<void>;

  /**
   * Kills a process, its descendants, and the process groups of all these. Descendants that left both their parent and
   * their group are not found. Rejects when a process may be left.
   */
  killTree(process: ProcessIdentity): Promise<void>;

  /** Resizes the terminal that is one of its three streams; `false`: none is a terminal, or the process has ended. */
  resizeTerminal(process: ProcessIdentity, size: TerminalSize): Promise<boolean>;

  /**
   * Starts a program in a new session and returns its streams. The caller reads both outputs to their end or kills the
   * program. Rejects with a `ProcessStartError`.
   */
  spawn(command: StreamedCommand): Promise<RunningProgram>;

  /**
   * Starts a program that outlives the agent, in a new session, and waits for its first line: descriptor 3 is a pipe to the
   * agent, descriptor 4 a pipe from the agent, which gets one byte after `whileWaiting`. `line` is empty when the program
   * ended without one. Rejects with a `ProcessStartError`, when `whileWaiting` rejects, or when the signal aborts; the caller
   * then cleans up what was started.
   */
  startMonitor(command: MonitorCommand, signal: AbortSignal): Promise<MonitorOutput>;
}

export type ProcessSignal = 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP' | 'SIGUSR1';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment; absent: the environment of the agent. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** A program that writes more to one output is killed, and `run` rejects with a `ProcessOutputError`; absent: no limit. */
  readonly maxOutputBytes?: number;
  /**
   * Runs a read-only copy of the program in memory, which is reused: otherwise an OCI runtime copies itself at each start and
   * starts twice. `program` must be an absolute path.
   */
  readonly sealed?: boolean;
}

export interface StreamedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** `terminal`: all three streams are a new terminal. */
  readonly streams: 'outputOnly' | 'all' | 'terminal';
  /**
   * For a `terminal` that the program creates itself: the path of a new socket that exists until the program has sent its
   * terminal's descriptor (`SCM_RIGHTS`). `stderr` then has the program's own standard error, up to 64 KiB.
   */
  readonly terminalSocket?: string;
  /** As in `Command`. */
  readonly sealed?: boolean;
}

export interface RunningProgram extends ProcessIdentity {
  /** A slow reader slows the program down. */
  readonly stdout: AsyncIterable<Uint8Array>;
  /** Empty with a terminal, unless the terminal comes through a socket. */
  readonly stderr: AsyncIterable<Uint8Array>;
  /** Resolves when the program's pipe or terminal has accepted the data, or the program has ended. */
  write(data: Uint8Array): Promise<void>;
  /** With a terminal: sends Ctrl-D. */
  closeInput(): void;
  /** Resizes its terminal. */
  resize(size: TerminalSize): Promise<void>;
  /** The exit code, 128 + number for a signal. Output may still be unread. Never rejects. */
  readonly exited: Promise<number>;
  /** As `killTree`; also ends its outputs, even if other processes hold them open. Rejects when a process may be left. */
  kill(): Promise<void>;
}

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

export interface MonitorCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Called with its PID while it waits for the byte. */
  whileWaiting?(pid: number): Promise<void>;
}

export interface MonitorOutput {
  /** Without the newline. */
  readonly line: string;
  /** Its standard error until the line. */
  readonly stderr: string;
}

export interface CommandResult {
  /** 128 + number for a program that a signal ended, as in shells. */
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

export interface Daemon {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Standard output and error go here, appended. */
  readonly logFile: string;
}

export interface DaemonHandle extends ProcessIdentity {
  /** Resolves when it ends while the agent runs. */
  readonly exited: Promise<{ readonly exitCode: number }>;
}

/** The command line and environment of a process. */
export interface ProcessStart {
  /** The program's name first. */
  readonly args: readonly string[];
  /** `NAME=value` */
  readonly env: readonly string[];
}

export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since boot, from /proc/PID/stat. */
  readonly startTime: number;
}

/** The exit code of a process whose real one cannot be known. containerd uses the same. */
export const UNKNOWN_EXIT_CODE = 255;

export class ProcessStartError extends Error {
  override readonly name = 'ProcessStartError';
  /** `ENOENT`, `EACCES`, … */
  readonly code: string;
  readonly program: string;

  constructor(code: string, program: string, options?: ErrorOptions) {
    super(`start ${program}: ${code}`, options);
    this.code = code;
    this.program = program;
  }
}

export class ProcessOutputError extends Error {
  override readonly name = 'ProcessOutputError';

  constructor(program: string, maxBytes: number) {
    super(`${program} wrote more than ${maxBytes} bytes`);
  }
}
