/** Other programs. Nothing goes through a shell. */
export interface Processes {
  /**
   * Runs a program to its end, in a session of its own: Ctrl-C at our terminal does not reach it. A non-zero exit is an
   * answer, not a failure; a program that cannot start rejects with a `ProcessStartError`. When the signal aborts, the
   * program and what it started are killed, and the call rejects with the signal's reason.
   */
  run(command: Command, signal: AbortSignal): Promise<Finished>;

  /**
   * Starts a program that outlives us: a session of its own, so that Ctrl-C at our terminal does not reach it, and no
   * pipe to us, so that our death does not either. Its working folder is `/`. Rejects with a `ProcessStartError`.
   */
  startDaemon(daemon: Daemon): Promise<DaemonHandle>;

  /** Identifies a process beyond the reuse of its number; `undefined` when there is none (zombies are none). */
  identify(pid: number): Promise<ProcessIdentity | undefined>;

  /** The processes of the machine that were started as `isMeant` has it; zombies are none. Looks at every one of them. */
  find(isMeant: (start: ProcessStart) => boolean): Promise<readonly ProcessIdentity[]>;

  /** Resolves when the process has ended (at once if it has), also when it is no child of ours. */
  waitForExit(process: ProcessIdentity, signal: AbortSignal): Promise<void>;

  /**
   * No error when it is gone already, or when its number now belongs to another process. A signal without a name here is
   * told by its number.
   */
  kill(process: ProcessIdentity, signal: ProcessSignal | number): Promise<void>;

  /**
   * Kills a process, what it started, and the process groups of all these. What left both its parent and its group is
   * not reached. Rejects when something of it may be left.
   */
  killTree(process: ProcessIdentity): Promise<void>;

  /** Of the terminal that is one of its three streams; `false`: none is, or it has ended. */
  resizeTerminal(process: ProcessIdentity, size: TerminalSize): Promise<boolean>;

  /**
   * Starts a program in a session of its own and hands over its streams. Whoever takes it reads both outputs to the end
   * or kills it. Rejects with a `ProcessStartError`.
   */
  spawn(command: StreamedCommand): Promise<RunningProgram>;

  /**
   * Starts a program that goes on without us, in a session of its own, and waits for its first line: descriptor 3 is a
   * pipe to us, descriptor 4 one from us that has one byte in it. `line` is empty when the program ended without one.
   * Rejects with a `ProcessStartError`, or when the signal aborts; the caller then sees to what has been started.
   */
  startMonitor(command: MonitorCommand, signal: AbortSignal): Promise<MonitorWords>;
}

export type ProcessSignal = 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP' | 'SIGUSR1';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment; absent: ours. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** Who writes more to one of its outputs is killed, and the run rejects with a `ProcessOutputError`; absent: no limit. */
  readonly maxOutputBytes?: number;
  /**
   * From a copy that nobody can write to, kept for the next time: an OCI runtime makes one of itself at each start otherwise,
   * and starts twice. An absolute path.
   */
  readonly sealed?: boolean;
}

export interface StreamedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** `terminal`: all three streams are a terminal of its own. */
  readonly streams: 'outputOnly' | 'all' | 'terminal';
  /**
   * For a `terminal` that the program makes itself: a path that is free, where a socket stands until the program has sent our
   * end of it (`SCM_RIGHTS`). What it writes to its own standard error, up to 64 KiB, is in `stderr`.
   */
  readonly terminalSocket?: string;
  /** As of `Command`. */
  readonly sealed?: boolean;
}

export interface RunningProgram extends ProcessIdentity {
  /** A slow reader slows the program down. */
  readonly stdout: AsyncIterable<Uint8Array>;
  /** Empty with a terminal, unless that comes through a socket. */
  readonly stderr: AsyncIterable<Uint8Array>;
  /** Resolves when the program (or its pipe) has taken it, or is gone. */
  write(data: Uint8Array): Promise<void>;
  /** With a terminal: as Ctrl-D does it. */
  closeInput(): void;
  /** Of its terminal. */
  resize(size: TerminalSize): Promise<void>;
  /** 128 + number when a signal ended it. Its outputs may have more to read. Never rejects. */
  readonly exited: Promise<number>;
  /** As `killTree`; its outputs end then, whoever else holds them. Rejects when something of it may be left. */
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
}

export interface MonitorWords {
  /** Without its end. */
  readonly line: string;
  /** What it wrote to its standard error until then. */
  readonly stderr: string;
}

export interface Finished {
  /** 128 + number for a program that a signal ended, as shells tell it. */
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
  /** Resolves when it ends while we live. */
  readonly exited: Promise<{ readonly exitCode: number }>;
}

/** How a process was started. */
export interface ProcessStart {
  /** The program's name first. */
  readonly args: readonly string[];
  /** `NAME=value` */
  readonly env: readonly string[];
}

export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since boot, as /proc/PID/stat tells it. */
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
