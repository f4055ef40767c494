import { errorText } from '../../base/error-text.ts';
import { ProcessStartError } from '../../host/processes.ts';
import { findMonitor } from './find-monitor.ts';
import { monitorArgs } from './monitor-args.ts';
import { type OciDeps, RUNTIME_ENV, runRuntime } from './oci-deps.ts';
import { type Monitored, OciError, type StartedContainer } from './oci-runtime.ts';
import type { OciSpec } from './oci-spec.ts';
import { runPostStartHooks } from './post-start-hooks.ts';
import { keepFilter, prepareConfig } from './prepare-config.ts';
import { removeContainer } from './remove-container.ts';
import { faultOf, readMonitorAnswer } from './runtime-words.ts';

const UNDO_MS = 20_000;
/** The descriptors that the Processes port gives to a monitor. */
const MONITOR_ENV = { ...RUNTIME_ENV, _OCI_SYNCPIPE: '3', _OCI_STARTPIPE: '4' };

export async function startContainer(
  container: Monitored,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<StartedContainer> {
  signal.throwIfAborted();
  try {
    const spec = await prepareConfig(container, deps);
    const pid = await create(container, spec, deps, signal);
    if (spec) await keepFilter(spec, stateFile(container, 'seccomp.bpf', deps), deps);
    await start(container, pid, spec, deps, signal);
    return { pid };
  } catch (error) {
    const failure = error instanceof ProcessStartError ? new OciError(error.message, { cause: error }) : error;
    // The caller's signal may be why we are here.
    await undo(container, deps).catch((undoError: unknown) => {
      throw new OciError(`${errorText(failure)}; ${errorText(undoError)}`, { cause: failure });
    });
    throw failure;
  }
}

/** A monitor that still waits for the runtime's `create` goes first: it must not bring the container back. */
async function undo(container: Monitored, deps: OciDeps): Promise<void> {
  const monitor = await findMonitor(container, deps);
  if (monitor) await deps.processes.killTree(monitor);
  await removeContainer(container, deps, deps.clock.deadline(UNDO_MS));
}

async function create(
  container: Monitored,
  spec: OciSpec | undefined,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<number> {
  const hasOwnUsers = spec?.linux.namespaces.some(({ type }) => type === 'user') ?? false;
  const command = {
    program: deps.monitorProgram,
    args: monitorArgs(container, deps, hasOwnUsers),
    env: MONITOR_ENV,
    cwd: container.bundle, // where conmon puts the file that tells of an OOM kill
  };
  const answer = readMonitorAnswer(await deps.processes.startMonitor(command, signal));
  if (answer.kind === 'failed') throw new OciError(answer.reason);
  return answer.pid;
}

async function start(
  container: Monitored,
  pid: number,
  spec: OciSpec | undefined,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (deps.crun && (await startsByItself(container, deps))) {
    if (spec) await runPostStartHooks(container, pid, spec, deps, signal);
    return;
  }
  const finished = await runRuntime(deps, ['start', container.id], signal);
  if (finished.exitCode !== 0) throw new OciError(faultOf(finished));
}

/** The container's first process waits for a byte. `false`: it does not, and the runtime can say why. */
async function startsByItself(container: Monitored, deps: OciDeps): Promise<boolean> {
  const fifo = stateFile(container, 'exec.fifo', deps);
  if (!(await deps.fifos.write(fifo, '0'))) return false;
  await deps.fs.remove(fifo); // as long as it is there, the container counts as created
  return true;
}

function stateFile({ id }: Monitored, name: string, { stateRoot }: OciDeps): string {
  return `${stateRoot}/${id}/${name}`;
}
