/** What the command line asks for, already parsed: one function per command, each answering with an exit code. */
export interface Commands {
  run(options: RunOptions): Promise<number>;
  ps(options: PsOptions): Promise<number>;
  logs(options: LogsOptions): Promise<number>;
  why(options: ExplainOptions): Promise<number>;
  timeline(options: ExplainOptions): Promise<number>;
  exec(options: ExecOptions): Promise<number>;
  stop(options: StopOptions): Promise<number>;
  /** kubelet's own flags, as they were given. */
  kubelet(flags: readonly string[]): Promise<number>;
  cri(): Promise<number>;
  version(): Promise<number>;
}

export interface RunOptions {
  readonly paths: readonly string[];
  readonly once: boolean;
  readonly rootDir: string;
  readonly stateDir: string;
  readonly podCidr: string;
  readonly verbosity: number;
  /** How long `--once` waits for its pods. */
  readonly timeoutMs: number;
}

/** Of every command that talks to a running agent. */
export interface ClientOptions {
  readonly stateDir: string;
  readonly namespace: string | undefined;
}

export interface PsOptions extends ClientOptions {
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
}

export interface LogsOptions extends ClientOptions {
  readonly pod: string;
  readonly container: string | undefined;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  /** How far back, from now. */
  readonly sinceMs: number | undefined;
}

/** Of `why` and `timeline`. */
export interface ExplainOptions extends ClientOptions {
  readonly pod: string;
  readonly output: 'text' | 'json';
}

export interface ExecOptions extends ClientOptions {
  readonly pod: string;
  readonly container: string | undefined;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly command: readonly string[];
}

export interface StopOptions extends ClientOptions {
  /** Empty: every pod, and the agent with them. */
  readonly pods: readonly string[];
  readonly graceSeconds: number | undefined;
}
