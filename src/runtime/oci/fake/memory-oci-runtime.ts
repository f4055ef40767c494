import type { Clock } from '../../../host/clock.ts';
import { unlessAborted } from '../../../host/fake/unless-aborted.ts';
import {
  type AttachedStreams,
  type ContainerExit,
  type ContainerRef,
  type ExecResult,
  type ExecStreams,
  type ExecSync,
  ExecTimeoutError,
  type MonitoredContainer,
  OciError,
  type OciRuntime,
  type StartedContainer,
} from '../oci-runtime.ts';
import type { OciProcess, OciResources } from '../oci-spec.ts';
import { MemoryAttachments } from './memory-attach.ts';
import { type MemoryExec, memoryExecStreams } from './memory-exec.ts';

/** A scripted container. */
export type MemoryProgram =
  /** Runs until a signal ends it; `ignores` has the signals that do not. */
  | { readonly kind: 'runs'; readonly ignores?: readonly number[] }
  | { readonly kind: 'exits'; readonly exitCode: number; readonly oomKilled?: boolean }
  | { readonly kind: 'failsToStart'; readonly message: string };

/** The state of one container, for tests. */
export interface MemoryContainer extends MonitoredContainer {
  readonly pid: number;
  /** Absent while it runs. */
  end?: ContainerExit;
  /** All signals sent while it ran, in order. */
  readonly signals: number[];
  /** Resources of the last update. */
  resources?: OciResources;
  readonly attachments: MemoryAttachments;
  logReopened: number;
  leftoverExecsKilled: number;
}

export interface MemoryOciRuntimeDeps {
  readonly clock: Clock;
  readonly program?: string;
}

const SIGKILL = 9;

/**
 * An in-memory OCI runtime. It outlives its users, as the real one does: a restart test passes the same object to the
 * next process.
 */
export class MemoryOciRuntime implements OciRuntime {
  readonly program: string;
  readonly stateRoot = '/run/oci';
  /** Called at each start; by default a container runs until it is killed. */
  onStart: (container: MonitoredContainer) => MemoryProgram = () => ({ kind: 'runs' });
  /** Called at each exec; by default it ends at once with exit code 0. */
  onExec: (container: ContainerRef, process: OciProcess) => MemoryExec = () => ({ exitCode: 0 });
  /** Error of the next update. */
  nextUpdateError: string | undefined;
  readonly containers = new Map<string, MemoryContainer>();
  readonly #clock: Clock;
  readonly #ends = new Map<string, PromiseWithResolvers<ContainerExit>>();
  readonly #ignores = new Map<string, readonly number[]>();
  #lastPid = 1000;

  constructor({ clock, program = '/usr/bin/crun' }: MemoryOciRuntimeDeps) {
    this.#clock = clock;
    this.program = program;
  }

  async start(container: MonitoredContainer, signal: AbortSignal): Promise<StartedContainer> {
    signal.throwIfAborted();
    const program = this.onStart(container);
    if (program.kind === 'failsToStart') throw new OciError(program.message);
    if (this.containers.has(container.id)) throw new OciError(`container ${container.id} already exists`);
    const pid = ++this.#lastPid;
    const ignores = program.kind === 'runs' ? (program.ignores ?? []) : [];
    const attachments = new MemoryAttachments(container);
    this.containers.set(container.id, {
      ...container,
      pid,
      signals: [],
      attachments,
      logReopened: 0,
      leftoverExecsKilled: 0,
    });
    this.#ends.set(container.id, Promise.withResolvers());
    this.#ignores.set(container.id, ignores);
    if (program.kind === 'exits') this.exit(container.id, program.exitCode, program.oomKilled);
    return { pid };
  }

  async wait({ id }: ContainerRef, signal: AbortSignal): Promise<ContainerExit> {
    signal.throwIfAborted();
    const end = this.#ends.get(id);
    return end === undefined ? { kind: 'monitorLost' } : unlessAborted(end.promise, signal);
  }

  async kill({ id }: ContainerRef, signalNumber: number): Promise<void> {
    const container = this.containers.get(id);
    if (container === undefined || container.end?.kind === 'exited') return;
    container.signals.push(signalNumber);
    if (signalNumber !== 0 && !this.#ignores.get(id)?.includes(signalNumber)) this.exit(id, 128 + signalNumber);
  }

  async remove({ id }: ContainerRef): Promise<void> {
    this.exit(id, 128 + SIGKILL);
    this.containers.delete(id);
    this.#ends.delete(id);
    this.#ignores.delete(id);
  }

  async update({ id }: ContainerRef, resources: OciResources): Promise<void> {
    const updateError = this.nextUpdateError;
    this.nextUpdateError = undefined;
    if (updateError !== undefined) throw new OciError(updateError);
    this.#running(id).resources = resources;
  }

  async execSync(container: ContainerRef, exec: ExecSync, signal: AbortSignal): Promise<ExecResult> {
    signal.throwIfAborted();
    this.#running(container.id);
    const { exitCode, stdout = '', stderr = '', runsForMs = 0 } = this.onExec(container, exec.process);
    const { timeoutMs = Number.POSITIVE_INFINITY, maxOutputBytes, maxStreamBytes = maxOutputBytes } = exec;
    if (runsForMs > 0) await this.#clock.sleep(Math.min(runsForMs, timeoutMs), signal);
    if (runsForMs > timeoutMs) throw new ExecTimeoutError(`no end after ${timeoutMs} ms`);
    const truncate = (text: string, room: number): Uint8Array =>
      new TextEncoder().encode(text).subarray(0, Math.min(room, maxStreamBytes));
    const out = truncate(stdout, maxOutputBytes);
    return { exitCode, stdout: out, stderr: truncate(stderr, maxOutputBytes - out.length) };
  }

  async exec(container: ContainerRef, process: OciProcess, signal: AbortSignal): Promise<ExecStreams> {
    signal.throwIfAborted();
    this.#running(container.id);
    return memoryExecStreams(this.onExec(container, process), this.#clock);
  }

  async attach({ id }: ContainerRef, signal: AbortSignal): Promise<AttachedStreams> {
    signal.throwIfAborted();
    return this.#running(id).attachments.attach();
  }

  /** A start completes at once here. */
  async waitForInterruptedStart(): Promise<void> {}

  async killLeftoverExecs({ id }: ContainerRef): Promise<void> {
    const container = this.containers.get(id);
    if (container !== undefined) container.leftoverExecsKilled++;
  }

  async reopenLog({ id }: ContainerRef): Promise<void> {
    this.#running(id).logReopened++;
  }

  /** Ends the container's first process unless it has ended. */
  exit(id: string, exitCode: number, oomKilled = false): void {
    this.#end(id, { kind: 'exited', exitCode, finishedAtMs: this.#clock.now(), oomKilled });
  }

  /** Simulates a killed monitor: the container's exit code stays unknown. */
  loseMonitor(id: string): void {
    this.#end(id, { kind: 'monitorLost' });
  }

  #end(id: string, end: ContainerExit): void {
    const container = this.containers.get(id);
    if (container === undefined || container.end !== undefined) return;
    container.end = end;
    container.attachments.end();
    this.#ends.get(id)?.resolve(end);
  }

  #running(id: string): MemoryContainer {
    const container = this.containers.get(id);
    if (container === undefined || container.end !== undefined) throw new OciError(`container ${id} is not running`);
    return container;
  }
}
