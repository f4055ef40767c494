import type { Clock } from '../../../host/clock.ts';
import { unlessAborted } from '../../../host/fake/unless-aborted.ts';
import {
  type AttachedStreams,
  type ContainerEnd,
  type ExecResult,
  type ExecStreams,
  type ExecSync,
  ExecTimeoutError,
  type Monitored,
  type MonitoredName,
  OciError,
  type OciRuntime,
  type StartedContainer,
} from '../oci-runtime.ts';
import type { OciProcess, OciResources } from '../oci-spec.ts';
import { MemoryAttachments } from './memory-attach.ts';
import { type MemoryExec, memoryExecStreams } from './memory-exec.ts';

/** What a container does once it is started. */
export type MemoryProgram =
  /** Until a signal ends it; `ignores` has the numbers that do not. */
  | { readonly kind: 'runs'; readonly ignores?: readonly number[] }
  | { readonly kind: 'exits'; readonly exitCode: number; readonly oomKilled?: boolean }
  | { readonly kind: 'failsToStart'; readonly message: string };

/** What the runtime has of one container; all that tests look at. */
export interface MemoryContainer extends Monitored {
  readonly pid: number;
  /** Absent while it runs. */
  end?: ContainerEnd;
  /** Numbers of all signals that it was sent while it ran, in order. */
  readonly signals: number[];
  /** Of the last update. */
  resources?: OciResources;
  readonly attachments: MemoryAttachments;
  logReopened: number;
  execsEnded: number;
}

export interface MemoryOciRuntimeDeps {
  readonly clock: Clock;
  readonly program?: string;
}

const SIGKILL = 9;

/**
 * An OCI runtime in memory. It outlives whoever uses it, as the real one does: a test of a restart hands the same object
 * to the next life.
 */
export class MemoryOciRuntime implements OciRuntime {
  readonly program: string;
  /** Chosen anew at each start; a container runs until it is killed unless somebody says otherwise. */
  onStart: (container: Monitored) => MemoryProgram = () => ({ kind: 'runs' });
  /** Chosen anew at each exec; it ends at once with exit code 0 unless somebody says otherwise. */
  onExec: (container: MonitoredName, process: OciProcess) => MemoryExec = () => ({ exitCode: 0 });
  /** Text of the next update's refusal, for one time. */
  nextUpdateError: string | undefined;
  readonly containers = new Map<string, MemoryContainer>();
  readonly #clock: Clock;
  readonly #ends = new Map<string, PromiseWithResolvers<ContainerEnd>>();
  readonly #ignores = new Map<string, readonly number[]>();
  #lastPid = 1000;

  constructor({ clock, program = '/usr/bin/crun' }: MemoryOciRuntimeDeps) {
    this.#clock = clock;
    this.program = program;
  }

  async start(container: Monitored, signal: AbortSignal): Promise<StartedContainer> {
    signal.throwIfAborted();
    const program = this.onStart(container);
    if (program.kind === 'failsToStart') throw new OciError(program.message);
    if (this.containers.has(container.id)) throw new OciError(`container ${container.id} is there already`);
    const pid = ++this.#lastPid;
    const ignores = program.kind === 'runs' ? (program.ignores ?? []) : [];
    const attachments = new MemoryAttachments(container);
    this.containers.set(container.id, { ...container, pid, signals: [], attachments, logReopened: 0, execsEnded: 0 });
    this.#ends.set(container.id, Promise.withResolvers());
    this.#ignores.set(container.id, ignores);
    if (program.kind === 'exits') this.exit(container.id, program.exitCode, program.oomKilled);
    return { pid };
  }

  async ended({ id }: MonitoredName, signal: AbortSignal): Promise<ContainerEnd> {
    signal.throwIfAborted();
    const end = this.#ends.get(id);
    return end === undefined ? { kind: 'monitorLost' } : unlessAborted(end.promise, signal);
  }

  async kill({ id }: MonitoredName, signalNumber: number): Promise<void> {
    const container = this.containers.get(id);
    if (container === undefined || container.end?.kind === 'exited') return;
    container.signals.push(signalNumber);
    if (signalNumber !== 0 && !this.#ignores.get(id)?.includes(signalNumber)) this.exit(id, 128 + signalNumber);
  }

  async remove({ id }: MonitoredName): Promise<void> {
    this.exit(id, 128 + SIGKILL);
    this.containers.delete(id);
    this.#ends.delete(id);
    this.#ignores.delete(id);
  }

  async update({ id }: MonitoredName, resources: OciResources): Promise<void> {
    const refusal = this.nextUpdateError;
    this.nextUpdateError = undefined;
    if (refusal !== undefined) throw new OciError(refusal);
    this.#running(id).resources = resources;
  }

  async execSync(container: MonitoredName, exec: ExecSync, signal: AbortSignal): Promise<ExecResult> {
    signal.throwIfAborted();
    this.#running(container.id);
    const { exitCode, stdout = '', stderr = '', runsForMs = 0 } = this.onExec(container, exec.process);
    const { timeoutMs = Number.POSITIVE_INFINITY, maxOutputBytes } = exec;
    if (runsForMs > 0) await this.#clock.sleep(Math.min(runsForMs, timeoutMs), signal);
    if (runsForMs > timeoutMs) throw new ExecTimeoutError(`no end after ${timeoutMs} ms`);
    const kept = (text: string): Uint8Array => new TextEncoder().encode(text).subarray(0, maxOutputBytes);
    return { exitCode, stdout: kept(stdout), stderr: kept(stderr) };
  }

  async exec(container: MonitoredName, process: OciProcess, signal: AbortSignal): Promise<ExecStreams> {
    signal.throwIfAborted();
    this.#running(container.id);
    return memoryExecStreams(this.onExec(container, process), this.#clock);
  }

  async attach({ id }: MonitoredName, signal: AbortSignal): Promise<AttachedStreams> {
    signal.throwIfAborted();
    return this.#running(id).attachments.attach();
  }

  /** Each start is over at once here. */
  async settleStart(): Promise<void> {}

  async endExecs({ id }: MonitoredName): Promise<void> {
    const container = this.containers.get(id);
    if (container !== undefined) container.execsEnded++;
  }

  async reopenLog({ id }: MonitoredName): Promise<void> {
    this.#running(id).logReopened++;
  }

  /** The container's own process ends; nothing happens when it has already. */
  exit(id: string, exitCode: number, oomKilled = false): void {
    this.#end(id, { kind: 'exited', exitCode, finishedAtMs: this.#clock.now(), oomKilled });
  }

  /** Somebody killed the monitor: how the container ends will never be known. */
  loseMonitor(id: string): void {
    this.#end(id, { kind: 'monitorLost' });
  }

  #end(id: string, end: ContainerEnd): void {
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
