import type { OciProcess, OciResources } from './oci-spec.ts';

/**
 * An OCI runtime (crun, runc) below a monitor (conmon) for each container. The monitor is no child of ours: it keeps the
 * output and the exit code while we are away. What it knows lies in files below the bundle and in `exits`.
 */
export interface OciRuntime {
  /** `/usr/bin/crun` */
  readonly program: string;

  /**
   * `create` and `start`. The bundle holds config.json, and its rootfs is mounted. Rejects with an `OciError` that has
   * the runtime's last words; then neither process nor state of it is left. A signal that aborts half-way ends the same.
   */
  start(container: Monitored, signal: AbortSignal): Promise<StartedContainer>;

  /**
   * Resolves once, when the container's first process has ended, or when its monitor is gone without a word. Also for a
   * container that an earlier life of ours started, also when that ended long ago. Nothing polls: the monitor's end is
   * seen by the end of a FIFO that it holds. Rejects only when the signal aborts.
   */
  ended(container: MonitoredName, signal: AbortSignal): Promise<ContainerEnd>;

  /** No error when it has ended already. `all` reaches every process of its cgroup (no PID namespace of its own). */
  kill(container: MonitoredName, signalNumber: number, options?: { readonly all?: boolean }): Promise<void>;

  /** Removes what the runtime and the monitor have of it, killing what still runs. Safe to repeat and when nothing is there. */
  remove(container: MonitoredName, signal: AbortSignal): Promise<void>;

  /** Rejects with an `OciError` when the kernel refuses the values. */
  update(container: MonitoredName, resources: OciResources, signal: AbortSignal): Promise<void>;

  /**
   * Runs a process in the container to its end and keeps its output (of each stream the first `maxOutputBytes`). After
   * `timeoutMs` (absent: never) its whole process group is killed, and the call rejects with an `ExecTimeoutError`; the
   * same is done when the signal aborts.
   */
  execSync(container: MonitoredName, exec: ExecSync, signal: AbortSignal): Promise<ExecResult>;

  /** The same with streams: for exec from a terminal or a client. Resolves when it runs; rejects with an `OciError`. */
  exec(container: MonitoredName, process: OciProcess, signal: AbortSignal): Promise<ExecStreams>;

  /**
   * Joins the first process of a running container: what it writes from now on, and, where it has an open standard input,
   * what it reads. Any number at once; each sees all output. Rejects with an `OciError` when it has ended.
   */
  attach(container: MonitoredName, signal: AbortSignal): Promise<AttachedStreams>;

  /** Ends all execs that an earlier life of ours left in the container. Those of this life must not have begun. */
  endExecs(container: MonitoredName): Promise<void>;

  /**
   * For a start that an earlier life of ours was at when it died, before anything else is asked of the container: resolves
   * when nothing of that start goes on. What is there then stays: `remove` finds it. Looks at every process of the machine.
   */
  settleStart(container: MonitoredName, signal: AbortSignal): Promise<void>;

  /** The monitor opens its log file anew, after a rotation; resolves when it has. */
  reopenLog(container: MonitoredName, signal: AbortSignal): Promise<void>;
}

/** All that is needed to find it again after a restart. */
export interface MonitoredName {
  readonly id: string;
  readonly bundle: string;
}

export interface Monitored extends MonitoredName {
  /** In CRI's format; absent: the output is thrown away. Its folder exists. */
  readonly logPath?: string;
  readonly terminal: boolean;
  /** Its standard input stays open. */
  readonly stdin: boolean;
  /** … until the first client has gone. */
  readonly stdinOnce: boolean;
}

export interface StartedContainer {
  /** Of its first process, as this machine counts. */
  readonly pid: number;
}

export type ContainerEnd =
  | {
      readonly kind: 'exited';
      /** 128 + number when a signal ended it. */
      readonly exitCode: number;
      readonly finishedAtMs: number;
      readonly oomKilled: boolean;
    }
  /** Nobody can say how it ended; its processes may still be there. */
  | { readonly kind: 'monitorLost' };

export interface ExecSync {
  readonly process: OciProcess;
  readonly timeoutMs?: number;
  readonly maxOutputBytes: number;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

export interface ExecStreams {
  /** With a terminal all output is in `stdout`. A slow reader slows the process down. */
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  /** Resolves when the process has taken it (or is gone). */
  write(data: Uint8Array): Promise<void>;
  closeInput(): void;
  resize(size: { readonly width: number; readonly height: number }): Promise<void>;
  /** Resolves with its exit code; both outputs have ended then. */
  readonly exited: Promise<number>;
  /** Ends its process group. */
  kill(): Promise<void>;
}

/** One of perhaps several who look on. */
export interface AttachedStreams {
  /**
   * Ends when the container does, or by `detach`. A slow reader loses nothing, and slows the container down, and with it its
   * log and everybody else who is attached; its end is not held up.
   */
  readonly output: AsyncIterable<{ readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }>;
  /** Resolves when the monitor has taken it (or is gone). Nothing happens to it where standard input is not open. */
  write(data: Uint8Array): Promise<void>;
  /** Nothing more is written; a container with `stdinOnce` sees the end of its input. */
  closeInput(): void;
  resize(size: { readonly width: number; readonly height: number }): Promise<void>;
  /** The container goes on. Safe to repeat. */
  detach(): void;
}

/** What the runtime said when it did not do what was asked. */
export class OciError extends Error {
  override readonly name = 'OciError';
}

export class ExecTimeoutError extends Error {
  override readonly name = 'ExecTimeoutError';
}

/** Chooses by handler; built once at start, when each program has been probed with a container of its own. */
export interface OciRuntimes {
  /** `undefined`: no handler of this name. The empty name is the default. */
  handler(name: string): OciRuntime | undefined;
  /** Sorted, the default's empty name first: what `Status` lists. */
  readonly handlers: ReadonlyArray<{ readonly name: string } & HandlerFeatures>;
}

export interface HandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
  readonly idmappedMounts: boolean;
}
