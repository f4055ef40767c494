import { errorText } from '../../base/error-text.ts';
import { traceWork, type Work } from '../../base/trace-work.ts';
import { ProcessStartError } from '../../host/processes.ts';
import { findMonitor } from './find-monitor.ts';
import { monitorArgs } from './monitor-args.ts';
import { type OciDeps, RUNTIME_ENV, runRuntime } from './oci-deps.ts';
import { type MonitoredContainer, OciError, type StartedContainer } from './oci-runtime.ts';
import type { OciSpec } from './oci-spec.ts';
import { runPostStartHooks } from './post-start-hooks.ts';
import { cacheFilter, prepareConfig } from './prepare-config.ts';
import { removeContainer } from './remove-container.ts';
import { failureText, parseMonitorReport } from './runtime-output.ts';
import { isScopePath } from './scope-path.ts';

const UNDO_TIMEOUT_MS = 20_000;
/** The descriptors that the Processes port gives to a monitor. */
const MONITOR_ENV = { ...RUNTIME_ENV, _OCI_SYNCPIPE: '3', _OCI_STARTPIPE: '4' };

export async function startContainer(
  container: MonitoredContainer,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<StartedContainer> {
  signal.throwIfAborted();
  try {
    const spec = await prepareConfig(container, deps);
    const pid = await traceWork(
      () => createWork(container, deps),
      () => create(container, spec, deps, signal),
    );
    if (spec) await cacheFilter(spec, stateFile(container, 'seccomp.bpf', deps), deps);
    await traceWork(
      () => ({ name: 'client.task.Start', facts: { 'task.id': container.id, 'task.pid': pid } }),
      () => start(container, pid, spec, deps, signal),
    );
    return { pid };
  } catch (error) {
    const failure = error instanceof ProcessStartError ? new OciError(error.message, { cause: error }) : error;
    // Not with the caller's signal, which may be the reason.
    await undo(container, deps).catch((undoError: unknown) => {
      throw new OciError(`${errorText(failure)}; ${errorText(undoError)}`, { cause: failure });
    });
    throw failure;
  }
}

/** conmon, and below it the runtime's `create`; containerd's name for its shim and the same. */
function createWork({ id }: MonitoredContainer, { program, monitorProgram }: OciDeps): Work {
  return {
    name: 'container.NewTask',
    facts: { 'task.container.id': id, 'task.runtime.name': program, 'task.monitor': monitorProgram },
    factsOf: (pid) => ({ 'task.process.id': Number(pid) }),
  };
}

/** Kills a monitor that still waits for the runtime's `create`, so that it cannot create the container again. */
async function undo(container: MonitoredContainer, deps: OciDeps): Promise<void> {
  const monitor = await findMonitor(container, deps);
  if (monitor) await deps.processes.killTree(monitor);
  await removeContainer(container, deps, deps.clock.deadline(UNDO_TIMEOUT_MS));
}

async function create(
  container: MonitoredContainer,
  spec: OciSpec | undefined,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<number> {
  const traits = {
    hasOwnUsers: spec?.linux.namespaces.some(({ type }) => type === 'user') ?? false,
    isScope: spec !== undefined && isScopePath(spec.linux.cgroupsPath),
  };
  const { monitorScope } = deps;
  const command = {
    program: deps.monitorProgram,
    args: monitorArgs(container, deps, traits),
    env: MONITOR_ENV,
    cwd: container.bundle, // where conmon creates the file that reports an OOM kill
    ...(monitorScope && { whileWaiting: (pid: number) => monitorScope.adopt(pid, container.id) }),
  };
  const answer = parseMonitorReport(await deps.processes.startMonitor(command, signal));
  if (answer.kind === 'failed') throw new OciError(answer.reason);
  return answer.pid;
}

async function start(
  container: MonitoredContainer,
  pid: number,
  spec: OciSpec | undefined,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (deps.crun && (await startThroughFifo(container, deps))) {
    if (spec) await runPostStartHooks(container, pid, spec, deps, signal);
    return;
  }
  const finished = await runRuntime(deps, ['start', container.id], signal);
  if (finished.exitCode !== 0) throw new OciError(failureText(finished));
}

/**
 * Writes the byte that the container's first process waits for. Returns `false` if it does not wait; then the runtime's
 * `start` reports why.
 */
async function startThroughFifo(container: MonitoredContainer, deps: OciDeps): Promise<boolean> {
  const fifo = stateFile(container, 'exec.fifo', deps);
  if (!(await deps.fifos.write(fifo, '0'))) return false;
  await deps.fs.remove(fifo); // as long as it exists, crun reports the container as created
  return true;
}

function stateFile({ id }: MonitoredContainer, name: string, { stateRoot }: OciDeps): string {
  return `${stateRoot}/${id}/${name}`;
}
