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
  cri(options: CriOptions): Promise<number>;
  image(options: ImageOptions): Promise<number>;
  version(): Promise<number>;
}

export interface RunOptions {
  readonly paths: readonly string[];
  readonly once: boolean;
  readonly rootDir: string;
  readonly stateDir: string;
  readonly podCidr: string;
  readonly registryConfigDirs: readonly string[];
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

/** The folders of a runtime: of every command that has one, or talks to one. */
export interface RuntimePlaces {
  readonly rootDir: string;
  readonly stateDir: string;
}

export interface CriOptions extends RuntimePlaces {
  /** `unix://…` */
  readonly listen: string;
  readonly cniConfDir: string;
  readonly cniBinDirs: readonly string[];
  /** Programs by the name of their handler, besides those that are always looked for. */
  readonly handlers: ReadonlyMap<string, string>;
  /** Absent: no NRI. */
  readonly nriSocket: string | undefined;
  readonly registryConfigDirs: readonly string[];
  readonly verbosity: number;
}

export type ImageOptions = RuntimePlaces &
  (
    | PullOptions
    | { readonly verb: 'load' /** A path; `-` is standard input. */; readonly archive: string }
    | SaveOptions
    | ListOptions
    | { readonly verb: 'tag'; readonly image: string; readonly name: string }
    | {
        readonly verb: 'rm';
        readonly images: readonly string[] /** Whether missing ones are fine. */;
        readonly force: boolean;
      }
    | {
        readonly verb: 'build-from-rootfs';
        readonly rootfs: string;
        readonly name: string;
        readonly config: ImageSettings;
      }
  );

export interface PullOptions {
  readonly verb: 'pull';
  readonly images: readonly string[];
  readonly quiet: boolean;
  /** Its password is read from standard input; absent: docker's configuration has the logins. */
  readonly username: string | undefined;
  readonly platform: string | undefined;
  /** Absent: the usual ones, or those of the runtime that is at work. */
  readonly registryConfigDirs: readonly string[] | undefined;
}

export interface SaveOptions {
  readonly verb: 'save';
  readonly images: readonly string[];
  /** A path; `-` is standard output. */
  readonly output: string;
}

export interface ListOptions {
  readonly verb: 'ls';
  readonly format: 'table' | 'ids' | 'json';
  readonly digests: boolean;
  /** Whether ids are whole. */
  readonly whole: boolean;
}

/** What containers of an image start with. */
export interface ImageSettings {
  readonly cmd: readonly string[];
  readonly entrypoint: readonly string[];
  readonly env: readonly string[];
  readonly user: string;
  readonly workingDir: string;
}
