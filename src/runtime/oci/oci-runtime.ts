import type { HandlerSettings } from '../settings/runtime-settings.ts';
import type { OciProcess, OciResources } from './oci-spec.ts';

/**
 * An OCI runtime (crun, runc) with a monitor (conmon) for each container. The monitor is not a child of this process:
 * it keeps the output and the exit code across restarts, in files below the bundle and in `exits`.
 */
export interface OciRuntime {
  /** `/usr/bin/crun` */
  readonly program: string;
  /** Its `--root`. */
  readonly stateRoot: string;

  /**
   * Runs `create` and `start`. The bundle contains config.json, and its rootfs is mounted. Rejects with `OciError` with
   * the runtime's last message; then no process or state of it is left. An abort has the same effect.
   */
  start(container: MonitoredContainer, signal: AbortSignal): Promise<StartedContainer>;

  /**
   * Resolves once, when the container's first process has ended or its monitor exited without a report. Works for
   * containers of previous processes, also if they ended long ago. Without polling: the monitor's exit closes a FIFO
   * that it holds. Rejects only if the signal aborts.
   */
  wait(container: ContainerRef, signal: AbortSignal): Promise<ContainerExit>;

  /**
   * No error if it has ended already. `all` signals every process of its cgroup (containers without a PID namespace).
   */
  kill(container: ContainerRef, signalNumber: number, options?: { readonly all?: boolean }): Promise<void>;

  /** Removes the state of the runtime and the monitor, and kills what still runs. Idempotent. */
  remove(container: ContainerRef, signal: AbortSignal): Promise<void>;

  /** Rejects with `OciError` if the kernel rejects the values. */
  update(container: ContainerRef, resources: OciResources, signal: AbortSignal): Promise<void>;

  /**
   * Runs a process in the container to its end and returns the beginning of its output.
   * After `timeoutMs` (absent: never) its process group is killed and the call rejects with `ExecTimeoutError`; an
   * abort does the same.
   */
  execSync(container: ContainerRef, exec: ExecSync, signal: AbortSignal): Promise<ExecResult>;

  /**
   * Runs a process with streams, for exec from a terminal or a client. Resolves when it runs; rejects with `OciError`.
   */
  exec(container: ContainerRef, process: OciProcess, signal: AbortSignal): Promise<ExecStreams>;

  /**
   * Attaches to the first process of a running container: its output from now on and, if standard input is open, its
   * input. Any number of clients at once; each receives all output. Rejects with `OciError` if it has ended.
   */
  attach(container: ContainerRef, signal: AbortSignal): Promise<AttachedStreams>;

  /** Kills all execs that a previous process left in the container. No exec of this process may have begun. */
  killLeftoverExecs(container: ContainerRef): Promise<void>;

  /**
   * For a start that was interrupted by the end of a previous process, before any other operation: resolves when
   * nothing of that start runs any more. What exists then stays and is found by `remove`. Scans all processes of the
   * machine.
   */
  waitForInterruptedStart(container: ContainerRef, signal: AbortSignal): Promise<void>;

  /** Makes the monitor reopen its log file after a rotation; resolves when it has. */
  reopenLog(container: ContainerRef, signal: AbortSignal): Promise<void>;
}

/** Identifies a container, also after a restart. */
export interface ContainerRef {
  readonly id: string;
  readonly bundle: string;
}

export interface MonitoredContainer extends ContainerRef {
  /** In CRI's format; absent: the output is discarded. Its directory exists. */
  readonly logPath?: string;
  readonly terminal: boolean;
  /** Standard input stays open. */
  readonly stdin: boolean;
  /** Standard input stays open until the first client detaches. */
  readonly stdinOnce: boolean;
}

export interface StartedContainer {
  /** PID of the first process on the host. */
  readonly pid: number;
}

export type ContainerExit =
  | {
      readonly kind: 'exited';
      /** 128 + signal number if a signal ended it. */
      readonly exitCode: number;
      readonly finishedAtMs: number;
      readonly oomKilled: boolean;
    }
  /** The exit code is unknown; processes may still run. */
  | { readonly kind: 'monitorLost' };

export interface ExecSync {
  readonly process: OciProcess;
  readonly timeoutMs?: number;
  /** Of each stream; absent: `maxOutputBytes`. */
  readonly maxStreamBytes?: number;
  /** Of both streams together. */
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
  /** Resolves when the process has read it (or exited). */
  write(data: Uint8Array): Promise<void>;
  closeInput(): void;
  resize(size: { readonly width: number; readonly height: number }): Promise<void>;
  /** Resolves with the exit code after both outputs have ended. */
  readonly exited: Promise<number>;
  /** Kills its process group. */
  kill(): Promise<void>;
}

/** One of possibly several attached clients. */
export interface AttachedStreams {
  /**
   * Ends with the container or by `detach`. A slow reader loses nothing, but slows down the container, its log and all
   * other clients; it does not delay the exit.
   */
  readonly output: AsyncIterable<{ readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }>;
  /** Resolves when the monitor has taken it (or exited). Ignored if standard input is not open. */
  write(data: Uint8Array): Promise<void>;
  /** Ends the input; a container with `stdinOnce` sees the end of its input. */
  closeInput(): void;
  resize(size: { readonly width: number; readonly height: number }): Promise<void>;
  /** The container goes on. Idempotent. */
  detach(): void;
}

/** An error message of the runtime. */
export class OciError extends Error {
  override readonly name = 'OciError';
}

export class ExecTimeoutError extends Error {
  override readonly name = 'ExecTimeoutError';
}

/** Selects a runtime by handler; built once at start-up, after each program was probed with a container. */
export interface OciRuntimes {
  /** Returns `undefined` for an unknown handler. The empty name is the default. */
  handler(name: string): OciRuntime | undefined;
  /** Also if no handler has this program and state directory any more. */
  at(identity: RuntimeIdentity): OciRuntime;
  /** Sorted, the default's empty name first: the list of `Status`. */
  readonly handlers: readonly RuntimeHandler[];
}

/** The program and state directory of a runtime, recorded with each container: the configuration may change. */
export type RuntimeIdentity = Pick<OciRuntime, 'program' | 'stateRoot'>;

/** A handler that works, with what its program supports. */
export interface RuntimeHandler extends HandlerFeatures {
  readonly name: string;
  readonly settings: HandlerSettings;
}

export interface HandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
  readonly idmappedMounts: boolean;
}
