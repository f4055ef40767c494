import { textOf } from '../../base/text-of.ts';
import { ProcessStartError } from '../../host/processes.ts';
import { findMonitor } from './find-monitor.ts';
import { monitorArgs } from './monitor-args.ts';
import { type OciDeps, RUNTIME_ENV, runRuntime } from './oci-deps.ts';
import { type Monitored, OciError, type StartedContainer } from './oci-runtime.ts';
import { removeContainer } from './remove-container.ts';
import { lastWords, readMonitorAnswer } from './runtime-words.ts';

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
    const pid = await create(container, deps, signal);
    await start(container, deps, signal);
    return { pid };
  } catch (error) {
    const failure = error instanceof ProcessStartError ? new OciError(error.message, { cause: error }) : error;
    // The caller's signal may be why we are here.
    await undo(container, deps).catch((undoError: unknown) => {
      throw new OciError(`${textOf(failure)}; ${textOf(undoError)}`, { cause: failure });
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

async function create(container: Monitored, deps: OciDeps, signal: AbortSignal): Promise<number> {
  const command = {
    program: deps.monitorProgram,
    args: monitorArgs(container, deps),
    env: MONITOR_ENV,
    cwd: container.bundle, // where conmon puts the file that tells of an OOM kill
  };
  const answer = readMonitorAnswer(await deps.processes.startMonitor(command, signal));
  if (answer.kind === 'failed') throw new OciError(answer.reason);
  return answer.pid;
}

async function start({ id }: Monitored, deps: OciDeps, signal: AbortSignal): Promise<void> {
  const { exitCode, stderr } = await runRuntime(deps, ['start', id], signal);
  if (exitCode !== 0) throw new OciError(lastWords(new TextDecoder().decode(stderr)));
}
